// BullMQ on Node: the same protocol as the Python programs (see ../README.md and lab.py).
"use strict";
const { fork } = require("node:child_process");
const path = require("node:path");
const { Queue, Worker } = require("bullmq");
const Redis = require("ioredis");

const PAYLOAD_BYTES = 32;
const PROBE = "probe".padStart(PAYLOAD_BYTES);
const URL_ = new URL(process.env.BENCH_URL);
const knob = (name, value) => Number(process.env[`BENCH_SET_${name}`] ?? value);
const CONCURRENCY = knob("concurrency", 100);

const settings = { worker: `concurrency=${CONCURRENCY}, removeOnComplete and removeOnFail {count: 0}` };
const guarantee = "at least once";

const connect = () =>
  new Redis({ host: URL_.hostname, port: Number(URL_.port), maxRetriesPerRequest: null, enableAutoPipelining: false });
const payload = (number) => String(number).padStart(PAYLOAD_BYTES, "0");
const seconds = () => Number(process.hrtime.bigint()) / 1e9;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const nowMs = () => performance.timeOrigin + performance.now();
const fail = (problem) => {
  throw new Error(problem);
};

async function outstanding(queue) {
  const counts = await queue.getJobCounts("waiting", "active", "delayed", "prioritized");
  return Object.values(counts).reduce((sum, one) => sum + one, 0);
}

async function expect(queue, count) {
  const found = await outstanding(queue);
  if (found !== count) fail(`${count} messages should be waiting, Redis holds ${found}`);
}

async function until(what, met, timeoutS) {
  const deadline = seconds() + timeoutS;
  while (!(await met())) {
    if (seconds() > deadline) fail(`${what} within ${timeoutS} s`);
    await sleep(2);
  }
}

// The worker is a process of its own, as for every peer; it reports over the channel fork gives us.
function startWorker(count, late) {
  const child = fork(__filename, ["worker", JSON.stringify({ count, late })], { stdio: ["ignore", 2, 2, "ipc"] });
  const notes = {};
  child.on("message", (note) => Object.assign(notes, note));
  child.on("exit", (code) => {
    if (code) notes.ended = code;
  });
  const noted = (name, timeoutS) =>
    until(
      `the worker was not ${name}`,
      () => (notes.ended ? fail(`the worker ended before it was ${name}`) : notes[name]),
      timeoutS,
    );
  return { child, notes, noted };
}

const phases = {
  async send(queue, { count }) {
    const warm = Math.floor(count / 10);
    for (let i = 0; i < warm; i++) await queue.add("noop", payload(i));
    const begun = seconds();
    for (let i = warm; i < count; i++) await queue.add("noop", payload(i));
    const took = seconds() - begun;
    await expect(queue, count);
    return { count: count - warm, seconds: took };
  },

  async bulk(queue, { count, chunk }) {
    const chunks = [];
    for (let at = 0; at < count; at += chunk) {
      const size = Math.min(chunk, count - at);
      chunks.push(Array.from({ length: size }, (_, i) => ({ name: "noop", data: payload(at + i) })));
    }
    await queue.addBulk(chunks[0]);
    const begun = seconds();
    for (const one of chunks.slice(1)) await queue.addBulk(one);
    const took = seconds() - begun;
    await expect(queue, count);
    return { count: count - chunks[0].length, seconds: took };
  },

  async delayed(queue, { count, delay_s }) {
    for (let i = 0; i < count; i++) await queue.add("noop", payload(i), { delay: delay_s * 1000 });
    await expect(queue, count);
    return { count };
  },

  async consume(queue, { count, timeout_s }) {
    await expect(queue, count);
    const { child, notes, noted } = startWorker(count, false);
    try {
      await noted("done", timeout_s);
      await until("not every job was acknowledged", async () => (await outstanding(queue)) === 0, timeout_s);
      const settled = seconds();
      return { count, seconds: settled - notes.done.first, settling_seconds: settled - notes.done.last };
    } finally {
      child.kill("SIGTERM");
    }
  },

  async lateness(queue, { count, rate, delay_s, timeout_s }) {
    const { child, notes, noted } = startWorker(count, true);
    const delay = (data, dueMs) => queue.add("noop", data, { delay: Math.max(Math.ceil(dueMs) - Date.now(), 0) });
    try {
      await delay(PROBE, nowMs() + 1000);
      await noted("ready", timeout_s);
      const start = nowMs() + 200;
      let behind = 0;
      for (let i = 0; i < count; i++) {
        const turn = start + (i * 1000) / rate;
        behind = Math.max(behind, nowMs() - turn);
        if (turn > nowMs()) await sleep(turn - nowMs());
        const due = turn + delay_s * 1000;
        await delay((due / 1000).toFixed(6).padStart(PAYLOAD_BYTES), due);
      }
      await noted("done", timeout_s);
      return { count, late_ms: notes.done.late_ms, sender_behind_ms: behind };
    } finally {
      child.kill("SIGTERM");
    }
  },
};

function work({ count, late }) {
  const lateMs = [];
  let seen = 0;
  let first = 0;
  const worker = new Worker(
    "bench",
    async (job) => {
      if (job.data === PROBE) return void process.send({ ready: true });
      if (late) lateMs.push(nowMs() - Number(job.data) * 1000);
      if (++seen === 1) first = seconds();
      if (seen === count) process.send({ done: { first, last: seconds(), late_ms: lateMs } });
    },
    { connection: connect(), concurrency: CONCURRENCY, removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } },
  );
  process.on("SIGTERM", () => worker.close().then(() => process.exit(0)));
  process.on("disconnect", () => process.exit(0));
}

async function main([phase, options]) {
  if (phase === "worker") return work(JSON.parse(options));
  process.stdin.resume().on("end", () => process.exit(1)); // the harness is gone
  const queue = new Queue("bench", { connection: connect() });
  const result = await phases[phase](queue, JSON.parse(options));
  const version = (name) => {
    const root = require.resolve(name).split(`${path.sep}node_modules${path.sep}`)[0];
    return require(path.join(root, "node_modules", name, "package.json")).version;
  };
  const versions = { bullmq: version("bullmq"), ioredis: version("ioredis"), node: process.versions.node };
  console.log(JSON.stringify({ ...result, versions, settings, guarantee }));
  process.exit(0);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
