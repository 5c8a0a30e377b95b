// What the live sockets push, and what pages begin with: see console/keeper/frames.py, details.py, fleet.py and
// console/serializers/topics.py. What the API answers is in `Api`, made of its description.
declare namespace Live {
  type Kind = Api.TopicKind | "group";
  type Severity = "critical" | "warning" | "info";

  /** A topic or a consumer group, as every page knows it. */
  interface Topic {
    name: string;
    kind: Kind;
    slots: number;
    paused: boolean;
    paused_until_ms: number;
    max_retries: number;
    visibility_timeout_ms: number;
    max_content_bytes?: number;
    description: string;
    version: number;
    in_order: boolean;
    concurrency?: number;
    key_concurrency?: number;
    timed: boolean;
    broadcast: boolean;
    /** On the pages of the topic. */
    journal?: "off" | "events" | "full";
    created_ms?: number;
  }

  interface Numbers {
    at_ms: number;
    in_s: number | null;
    out_s: number | null;
    failed_s: number | null;
    merged_s: number | null;
    backlog: number;
    ready: number;
    delayed: number;
    retrying: number;
    held: number;
    order_keys: number;
    order_ms: number;
    keys_waiting?: number;
    in_flight: number;
    dead: number;
    lag_ms: number;
    oldest_ms: number | null;
    p50: number | null;
    p95: number | null;
    p99: number | null;
    ledger_gap: number;
    lag: number | null;
    missed: number;
    length: number;
  }

  /** `values` is what the sentence of that code needs. */
  interface Problem {
    code: string;
    severity: Severity;
    topic: string | null;
    values: Record<string, any>;
    since_ms?: number | null;
  }

  interface Course {
    course: Api.CourseView["course"];
    for_ms: number;
    lag_before: number | null;
    lag: number | null;
    read: number;
    left_ms: number | null;
  }

  /** A line of the overview. */
  interface TopicLine extends Topic, Numbers {
    workers: number;
    routed: boolean;
    strip: number[];
    problems: string[];
    course?: Course;
  }

  interface Totals {
    in_s: number | null;
    out_s: number | null;
    failed_s: number | null;
    backlog: number;
    ready: number;
    retrying: number;
    in_flight: number;
    dead: number;
    lag_ms: number;
    lag_topic: string | null;
    p99: number | null;
    oldest_ms: number | null;
    acknowledged: number;
    workers: number;
  }

  interface Server {
    program?: string;
    version: string;
    mode: string;
    used_memory: number;
    maxmemory: number;
    policy: string;
    ops_per_s: number;
  }

  interface Overview {
    type: "overview";
    at_ms: number;
    interval_ms: number;
    totals: Totals;
    server: Server | null;
    problems: Problem[];
    topics: TopicLine[];
  }

  /** What differs from the frame of `from_ms`: `topics` that are new or changed; `names` of all, null where these stay. */
  interface OverviewChanges extends Omit<Overview, "type"> {
    type: "overview_changes";
    from_ms: number;
    names: string[] | null;
  }

  /** A consumer group on the page of its stream. */
  interface Group extends Api.GroupLine, Numbers {
    lag: number | null;
    lag_ms: number;
    missed: number;
    retrying: number;
    in_flight: number;
    dead: number;
    ledger_gap: number;
    workers: number;
    routed: boolean;
    strip: number[];
    course: Course | null;
  }

  interface JournalReader {
    name: string;
    behind: number;
    behind_ms: number | null;
  }

  interface Objective {
    objective_ms: number;
    kept: number | null;
    budget: number;
    burn: number;
  }

  /** Metric → its value in each slot. */
  type SlotValues = Record<string, number[]>;

  interface TopicFrame {
    type: "topic";
    at_ms: number;
    interval_ms: number;
    topic: Topic;
    now: Numbers;
    point: number[];
    workers: number;
    at_most_once: number;
    routed: boolean;
    journal: { entries: number; readers: JournalReader[] } | null;
    acknowledged: Api.Acknowledged | null;
    course: Course | null;
    objective: Objective | null;
    groups: Group[];
    slots: SlotValues;
    fenced: number;
    /** Slot → by how much its ledger does not balance; of the others none. */
    gaps: Record<string, number>;
    problems: Problem[];
  }

  /** A topic as it was at a moment, in the shape of what is pushed. */
  interface PastFrame {
    at_ms: number;
    topic: Topic;
    now: Numbers | null;
    problems: Problem[];
    slots: SlotValues | null;
    owners: Owners | null;
    slots_ms: number | null;
    step_ms: number | null;
    workers: null;
    at_most_once?: undefined;
    routed?: undefined;
    journal?: undefined;
    acknowledged?: undefined;
    objective?: undefined;
    groups?: undefined;
  }

  interface Owners {
    names: string[];
    /** Of each slot its place in `names`, or -1. */
    of: number[];
    epochs: (string | null)[];
    since_ms: (number | null)[];
  }

  interface InFlight extends Omit<Api.Row, "at_ms"> {
    receipt: number | string | null;
    score_ms: number | null;
    taken_ms: number;
    until_ms: number;
  }

  interface Details {
    type: "details";
    at_ms: number;
    visibility_timeout_ms: number;
    ages: { looked_at: number; capped: boolean; buckets: [number, number][] };
    oldest: InFlight[];
    more: boolean;
    permits?: { used: number; of: number } | null;
    forecast: number[];
    owners: Owners | null;
  }

  /** What a topic's page hears. */
  type TopicMessage = TopicFrame | Details | { type: "history"; points: number[][] } | { type: "gone"; topic?: undefined };

  interface FleetWorker extends Omit<Api.Worker, "session"> {
    session: string;
    session_since_ms: number;
    slots: number;
  }

  interface FleetTopic {
    name: string;
    version: number;
    slots: number;
    serial: boolean;
    unowned: number;
    unowned_slots: string;
    pins: { worker: string; slots: string }[];
  }

  /** Who acquired or gave up slots; `topic` where the page is not that topic's. */
  interface OwnershipEvent extends Api.OwnershipEvent {
    topic?: string;
  }

  interface Fleet {
    type: "fleet";
    at_ms: number;
    interval_ms: number;
    workers: FleetWorker[];
    away: string[];
    topics: FleetTopic[];
    events: OwnershipEvent[];
  }

  /** A field of a definition's form, see console/usecases/definitions/field_list.py. */
  interface Field {
    name: string;
    label: string;
    help: string;
    input: "duration" | "bytes" | "flag" | "choice" | "text" | "line" | "name" | "number";
    options: [string, string][];
    zero: string;
    low: number;
    high: number;
    fixed: boolean;
    of: "queues" | "streams" | "";
  }

  /** The values of a definition, by the names of its fields. */
  type Definition = Record<string, any>;

  interface Alert {
    name: string;
    topic: string;
    topics: number;
    severity: Severity;
    fired_ms: number;
  }
  /** A panel of a wall display, see console/usecases/screen_data.py. */
  type Panel = { topic: string; metric: keyof Numbers & string } & (
    | { kind: "figures"; values: (Totals & Partial<TopicLine>) | null }
    | { kind: "chart"; points: [number, number | null][] }
    | { kind: "heatmap"; slots: number[] | null }
    | { kind: "topics"; lines: TopicLine[]; more: number }
    | { kind: "alerts"; lines: Alert[]; more: number }
    | { kind: "problems"; lines: Problem[]; more: number }
  );
}

/** The slot of a message, and its id. */
type Ref = [number, string];

/** What an operator may not do says why; null where it is allowed. */
interface Grants {
  payload: boolean;
  actions: Record<string, string | null>;
}

/** What the server tells every page, see console/pages/shell.py; and what some pages are told, see `data` in console/pages/. */
interface PageData {
  root: string;
  api: string;
  places: Record<string, string>;
  csrf: string;
  release: string;
  icons: [string, string];
  username: string;
  grants: Grants;
  preferences?: Api.PreferencesOut;
  /** How 1234.5 may be written. */
  number_formats: string[];
  trace_link: string;
  interval_ms: number;
  lag_warning_ms: number;
  now_ms: number | null;

  topic: Live.Topic;
  tab: string;
  /** Of the topic, when the page was made. */
  problems: Live.Problem[];
  problems_at_ms: number;
  socket: string;
  frame: any;
  /** Names of topics. */
  favourites?: string[];
  sparks: { at_ms: number; step_ms: number; sparks: Record<string, number[]> } | null;
  problem?: string;
  ident: string;
  slot: number | null;
  fields: Live.Field[];
  definition: Live.Definition;
  etag: string;
  actions: [string, string][];
  results: [string, string][];
  vias: string[];
  databases: string[];
  ledgers: string[];
  /** Names; of the routes' page with their kinds. */
  topics: any[];
  /** Names of topics without a journal. */
  unrecorded?: string[];
  /** What fields of a definition are called. */
  labels?: Record<string, string>;
  forms: string;
  rules: string;
  receivers: string;
  show: string;
  data: string;
}
