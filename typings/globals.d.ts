// What the page brings beside our modules: Django's catalogue of texts, and Chart.js.
declare function gettext(text: string): string;
declare function ngettext(one: string, many: string, count: number): string;
declare function interpolate(sentence: string, values: object, named: boolean): string;
declare const Chart: any;
interface Window {
  gettext: typeof gettext;
  ngettext: typeof ngettext;
  interpolate: typeof interpolate;
  Chart: any;
}
