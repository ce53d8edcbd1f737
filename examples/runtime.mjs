// A runtime for Ringback in plain JavaScript, written from docs/runtimes.md and nothing else.
// RINGBACK_URL=http://127.0.0.1:7878 RINGBACK_TOKEN=rbp_… node runtime.mjs
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const server = process.env.RINGBACK_URL ?? "http://127.0.0.1:7878";

// What this runtime can do. A tool gets its arguments and a context; what it returns is the run's result.
const tools = {
  count_up: {
    description: "Count to a number, one line a step. Goes on where a lost attempt stopped.",
    inputSchema: { properties: { to: { type: "integer" }, pauseMs: { type: "integer" } }, required: ["to"] },
    policy: { idempotent: true },
    async run({ to, pauseMs = 100 }, context) {
      const first = (context.checkpoint ?? 0) + 1;
      for (let n = first; n <= to; n += 1) {
        const progress = { type: "progress", done: n, total: to };
        await context.tell([context.print(`${n}\n`), progress, { type: "checkpoint", value: n }]);
        await sleep(pauseMs, null, { signal: context.signal });
      }
      return { from: first, to };
    },
  },
};

class Gone extends Error {} // the session is over: what it held is lost
class Refused extends Error {} // this very request is wrong, or what it is about is not ours any more
const held = new Map(); // attempts under way, by run and fence
const keyOf = ({ runId, fence }) => `${runId} ${fence}`;
let connection = {}; // what the server called us at the last attach
let isLeaving = false;

async function post(path, body) {
  const headers = { authorization: `Bearer ${process.env.RINGBACK_TOKEN}`, "content-type": "application/json" };
  for (let pauseMs = 100; ; pauseMs = Math.min(2 * pauseMs, 5_000)) {
    try {
      const signal = AbortSignal.timeout(30_000);
      const answer = await fetch(server + path, { method: "POST", headers, body: JSON.stringify(body), signal });
      if (answer.ok) return answer.status === 204 ? null : await answer.json();
      const problem = await answer.json();
      if (answer.status === 410) throw new Gone(problem.detail);
      if (answer.status < 500 && answer.status !== 429) throw new Refused(`${problem.code}: ${problem.detail}`);
    } catch (error) {
      if (error instanceof Gone || error instanceof Refused) throw error;
    }
    await sleep(pauseMs); // no answer, or none that helps: ask the same again
  }
}

async function attach() {
  const native = ["input.receive", "output.publish", "checkpoint.save", "checkpoint.load"];
  const session = await post("/v1/workers/attach", {
    name: hostname(), provider: "node",
    incarnation: `${process.pid}-${Date.now()}`,
    protocolVersion: 1,
    slots: 4,
    offers: Object.keys(tools).map((name) => `default/function:${name}`),
    capabilities: native.map((name) => ({ surface: "core", name, supportLevel: "native" })),
    tools: Object.entries(tools).map(([name, { run, ...rest }]) => ({ name, runtime: "function", ...rest })),
    ...connection,
  });
  connection = { runtimeConnectionId: session.runtimeConnectionId, connectionEpoch: session.connectionEpoch };
  return session;
}

async function report(attempt, kind, members) {
  const answer = await post(`${attempt.home}/report`, { reports: [{ kind, ...attempt.mark, ...members }] });
  obey(answer);
  const [result] = answer.results;
  if (!result.ok) throw new Refused(`${result.code}: ${result.detail}`);
}

function obey({ cancels = [], lost = [] }) {
  cancels.forEach((each) => halt(held.get(keyOf(each)), "cancel"));
  lost.forEach((each) => halt(held.get(keyOf(each)), "lost"));
}

function halt(attempt, why) {
  if (attempt) attempt.why = why === "lost" ? why : (attempt.why ?? why);
  attempt?.stop.abort();
}

async function carryOut(claim, home) {
  const mark = { runId: claim.runId, fence: claim.fence };
  const attempt = { claim, mark, home, stop: new AbortController(), why: null, seq: 0, offset: 0 };
  held.set(keyOf(claim), attempt);
  const limits = { attempt: claim.timeoutMs, deadline: claim.deadlineInMs };
  const clocks = Object.entries(limits).map(([limit, ms]) => ms && setTimeout(halt, ms, attempt, limit));
  try {
    if (!claim.started) await report(attempt, "start", {}); // refused: it must not begin
    await report(attempt, "settle", await outcomeOf(attempt));
  } catch (error) {
    console.error("let go of", claim.runId, error.message); // it is not ours any more
  } finally {
    clocks.forEach(clearTimeout);
    held.delete(keyOf(claim));
  }
}

async function outcomeOf(attempt) {
  const tell = (events) => report(attempt, "events", { seq: (attempt.seq += 1), events });
  const print = (text) => {
    attempt.offset += text.length; // in bytes: this example prints ASCII only
    return { type: "output.chunk", stream: "stdout", offset: attempt.offset - text.length, data: btoa(text) };
  };
  const { tool, checkpoint, arguments: given } = attempt.claim;
  try {
    const result = await tools[tool].run(given, { checkpoint, signal: attempt.stop.signal, tell, print });
    return { outcome: "succeeded", result, summary: JSON.stringify(result) };
  } catch (error) {
    if (error instanceof Gone || error instanceof Refused || attempt.why === "lost") throw error;
    if (attempt.why === "leave") return { outcome: "released" };
    if (!attempt.why) return { outcome: "failed", error: { kind: "tool_error", message: String(error) } };
    if (attempt.why !== "cancel") return { outcome: "timed_out", limit: attempt.why, forced: false };
    await tell([{ type: "cancel.delivered" }, { type: "cancel.acknowledged" }]);
    return { outcome: "stopped", forced: false };
  }
}

async function serve({ sessionId, heartbeatIntervalMs }) {
  const home = `/v1/workers/${sessionId}`;
  const claiming = async () => {
    while (!isLeaving) {
      const work = await post(`${home}/claim`, { slots: 4 - held.size, waitMs: 2_000 });
      obey(work);
      work.claims.forEach((claim) => carryOut(claim, home));
    }
    held.forEach((attempt) => halt(attempt, "leave"));
    while (held.size) await sleep(10);
    await post(`${home}/detach`, {});
    process.exit(0);
  };
  const beating = async () => {
    for (;;) {
      obey(await post(`${home}/heartbeat`, { held: [...held.values()].map((attempt) => attempt.mark) }));
      await sleep(heartbeatIntervalMs);
    }
  };
  await Promise.all([claiming(), beating()]);
}

process.on("SIGTERM", () => (isLeaving = true));
for (;;) {
  try {
    await serve(await attach());
  } catch (error) {
    if (!(error instanceof Gone)) throw error;
    held.forEach((attempt) => halt(attempt, "lost"));
  }
}
