/** Writes a report. The demo stops the first process that runs it until its lease is over, and then lets it go on. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Context, HapaxError } from "hapax";
import { startSignal, tell } from "../processes.js";
import { openShop } from "../shop.js";

const [folder = "", report = ""] = process.argv.slice(2);
const hapax = await openShop(folder);
await startSignal();

let context: Context | undefined;
try {
  const out = await hapax.run({ scope: "reports", key: report }, async (ctx) => {
    context = ctx;
    tell({ kind: "working", token: ctx.token, attempt: ctx.attempt });
    await sleep(100);
    return `written by attempt ${ctx.attempt}`;
  });
  tell({ kind: "finished", value: out.value });
} catch (error) {
  const code = error instanceof HapaxError ? error.code : String(error);
  tell({ kind: "refused", code, aborted: context?.signal.aborted ?? false });
}
await hapax.close();
process.disconnect();
