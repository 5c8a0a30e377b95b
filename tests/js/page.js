// What a page gives its modules before they run, for tests without a browser.
const fill = (sentence, values) => sentence.replace(/%\((\w+)\)s/g, (_, name) => String(values[name]));

globalThis.document = {
  documentElement: { lang: "en" },
  getElementById: () => ({
    textContent: JSON.stringify({ root: "/rmq/", api: "/rmq/api/v1/", csrf: "token", urls: {} }),
  }),
};
globalThis.addEventListener ??= () => {};
globalThis.location = { href: "http://console.test/rmq/" };
globalThis.window = {
  gettext: (text) => text,
  ngettext: (one, many, count) => (count === 1 ? one : many),
  interpolate: fill,
};
