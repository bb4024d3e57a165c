import type { Context } from "../../packages/hapax/src/index.js";
import type { Library } from "./library.js";
import { type Execution, type ObservedCall, WorkError } from "./observer/executions.js";
import type { Observer } from "./observer/observer.js";
import { SCOPE } from "./observer/observer.js";
import type { Act } from "./plan.js";
import type { ProcessClock } from "./process-clock.js";
import type { Timeline } from "./timeline.js";

export interface WorkOptions {
  readonly observer: Observer;
  readonly library: Library;
  readonly clock: ProcessClock;
  readonly timeline: Timeline;
}

/** What a call's function does, as its spec says, in the time of its process. */
export async function work(options: WorkOptions, call: ObservedCall, ctx: Context): Promise<string> {
  const { observer, library, timeline } = options;
  const { host, key, spec } = call;
  const execution = observer.executions.begin(call, observer.stateOf({ scope: SCOPE, key }), ctx);
  call.execution = execution;
  timeline.add(host.name, `call ${call.number} runs ${key} under token ${ctx.token}`);
  let threw = true;
  try {
    for (const act of spec.work) await perform(options, execution, act);
    threw = spec.end !== "returns";
    if (!threw) return execution.value;
    const error = new WorkError(execution);
    throw spec.end === "throws" ? error : library.permanent(error);
  } finally {
    timeline.add(host.name, `call ${call.number}'s function under token ${ctx.token} ends`);
    observer.executions.end(execution, threw);
  }
}

async function perform({ observer, clock, timeline }: WorkOptions, execution: Execution, act: Act): Promise<void> {
  const { ctx, call, signal } = execution;
  switch (act.act) {
    case "pause":
      return pause(clock, act.ms, signal);
    case "effect":
      ctx.assertHeld();
      timeline.add(call.host.name, `call ${call.number} has an effect under token ${ctx.token}`);
      return observer.executions.effect(execution);
    case "step": {
      // A function may name a step once.
      const { name } = act;
      if (execution.stepsUsed.has(name)) return;
      execution.stepsUsed.add(name);
      let ran = false;
      const value = await ctx.step(name, async () => {
        ran = true;
        timeline.add(call.host.name, `call ${call.number} runs step ${name} under token ${ctx.token}`);
        observer.executions.stepRuns(execution, name);
        await pause(clock, act.ms, signal);
        return `step ${name} of token ${ctx.token}`;
      });
      return observer.executions.stepReturned(execution, name, value, ran);
    }
  }
}

function pause(clock: ProcessClock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const leave = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener("abort", leave);
      resolve();
    });
    signal?.addEventListener("abort", leave, { once: true });
  });
}
