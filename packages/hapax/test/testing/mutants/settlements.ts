import type { RecordId } from "../../../src/index.js";
import { type Mutant, settling } from "./mutant.js";

/** Faults in what ends or keeps an execution. */
export const settlementMutants: readonly Mutant[] = [
  // Settlements.
  {
    name: "a settle that ignores the token",
    caughtBy: "settle",
    transitions: settling({
      settlement: (settlement, record) => ({ ...settlement, token: record?.token ?? settlement.token }),
    }),
  },
  {
    name: "a settle that is refused after the lease ran out",
    caughtBy: "settle",
    transitions: (real) => ({
      decideSettle(record, settlement, nowMs) {
        const over = record?.status === "running" && nowMs >= record.leaseUntilMs;
        return over ? { result: { kind: "lost" } } : real.decideSettle(record, settlement, nowMs);
      },
    }),
  },
  {
    name: "a settle that is refused from uncertain",
    caughtBy: "settle",
    transitions: (real) => ({
      decideSettle: (record, settlement, nowMs) =>
        record?.status === "uncertain" ? { result: { kind: "lost" } } : real.decideSettle(record, settlement, nowMs),
    }),
  },
  {
    name: "a release that keeps its run",
    caughtBy: "settle",
    transitions: settling({ write: (write, record) => ({ ...write, runs: record?.runs ?? write.runs }) }),
  },
  {
    name: "a failure that drops the metadata of the claim",
    caughtBy: "settle",
    transitions: settling({
      write: (write, _, settlement) =>
        settlement.kind === "fail" ? { ...write, metadata: settlement.metadata } : write,
    }),
  },

  // The same settlement again.
  {
    name: "a settlement that is refused when it comes again",
    caughtBy: "same settlement",
    transitions: settling({ record: (record) => ({ ...record, settledBy: "attempts" }) }),
  },
  {
    name: "a release that lowers runs twice",
    caughtBy: "same settlement",
    transitions: (real) => ({
      decideSettle(record, settlement, nowMs) {
        const decision = real.decideSettle(record, settlement, nowMs);
        const again = decision.result.kind === "settled" && decision.write === undefined && record !== undefined;
        if (!again || settlement.kind !== "release") return decision;
        return { ...decision, write: { ...record, runs: record.runs - 1 } };
      },
    }),
  },
  {
    name: "a complete that is accepted after a fail",
    caughtBy: "same settlement",
    transitions: settling({
      record: (record, { kind }) =>
        record.status === "failed" && kind === "complete" ? { ...record, status: "running" } : record,
    }),
  },
  {
    name: "a result that is not compared",
    caughtBy: "same settlement",
    transitions: settling({
      settlement: (settlement, record) =>
        settlement.kind === "complete" && record?.status === "done"
          ? { ...settlement, result: record.result }
          : settlement,
    }),
  },
  {
    name: "an error that is not compared",
    caughtBy: "same settlement",
    transitions: settling({
      settlement: (settlement, record) =>
        settlement.kind === "fail" && record?.status === "failed" ? { ...settlement, error: record.error } : settlement,
    }),
  },
  {
    name: "a permanent flag that is not compared",
    caughtBy: "same settlement",
    transitions: settling({
      settlement: (settlement, record) =>
        settlement.kind === "fail" && record?.status === "failed"
          ? { ...settlement, permanent: record.final }
          : settlement,
    }),
  },

  // Heartbeats.
  {
    name: "an extend that revives",
    caughtBy: "extend",
    transitions: (real) => ({
      decideExtend: (record, lease, nowMs) =>
        real.decideExtend(record === undefined ? undefined : { ...record, leaseUntilMs: nowMs + 1 }, lease, nowMs),
    }),
  },
  {
    name: "an extend that is accepted at the deadline",
    caughtBy: "extend",
    transitions: (real) => ({
      decideExtend: (record, lease, nowMs) =>
        real.decideExtend(
          record === undefined ? undefined : { ...record, leaseUntilMs: record.leaseUntilMs + 1 },
          lease,
          nowMs,
        ),
    }),
  },
  {
    name: "an extend that ignores the token",
    caughtBy: "extend",
    transitions: (real) => ({
      decideExtend: (record, lease, nowMs) =>
        real.decideExtend(record, { ...lease, token: record?.token ?? lease.token }, nowMs),
    }),
  },
  {
    name: "an extend that answers but does not write",
    caughtBy: "extend",
    transitions: (real) => ({
      decideExtend: (record, lease, nowMs) => ({ result: real.decideExtend(record, lease, nowMs).result }),
    }),
  },

  // Steps.
  {
    name: "steps that are dropped on takeover",
    caughtBy: "steps",
    store: (real) => ({
      claim: async (requests) =>
        (await real.claim(requests)).map((answer) =>
          answer.kind === "granted" && answer.takeover ? { ...answer, steps: new Map() } : answer,
        ),
    }),
  },
  {
    name: "steps that outlive their record",
    caughtBy: "steps",
    store(real) {
      const kept = new Map<string, Map<string, Uint8Array>>();
      const stepsOf = ({ scope, key }: RecordId) => kept.get(`${scope} ${key}`) ?? new Map<string, Uint8Array>();
      return {
        settle(settlements) {
          for (const settlement of settlements) {
            if (settlement.kind !== "step") continue;
            const { scope, key, name, result } = settlement;
            kept.set(`${scope} ${key}`, stepsOf(settlement).set(name, result));
          }
          return real.settle(settlements);
        },
        async claim(requests) {
          const answers = await real.claim(requests);
          return answers.map((answer, index) => {
            const request = requests[index];
            if (answer.kind !== "granted" || request === undefined) return answer;
            return { ...answer, steps: new Map([...stepsOf(request), ...answer.steps]) };
          });
        },
      };
    },
  },
  {
    name: "a step with other bytes that overwrites the first",
    caughtBy: "steps",
    transitions: () => ({ sameBytes: () => true }),
  },
  {
    name: "a step that extends the lease",
    caughtBy: "steps",
    transitions: (real) => ({
      decideSettle(record, settlement, nowMs) {
        const decision = real.decideSettle(record, settlement, nowMs);
        const stepped = settlement.kind === "step" && decision.result.kind === "settled" && record !== undefined;
        return stepped ? { ...decision, write: { ...record, leaseUntilMs: nowMs + 30_000 } } : decision;
      },
    }),
  },
  {
    name: "a step that is accepted after the end",
    caughtBy: "steps",
    transitions: settling({
      record: (record, { kind }) => (kind === "step" ? { ...record, status: "running" } : record),
    }),
  },
];
