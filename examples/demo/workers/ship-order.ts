/** Ships an order in two steps. The demo kills the first process that runs it between them. */
import { setTimeout as sleep } from "node:timers/promises";
import { happen } from "../outside-world.js";
import { startSignal, tell } from "../processes.js";
import { openShop } from "../shop.js";

const [folder = "", order = ""] = process.argv.slice(2);
const hapax = await openShop(folder);
await startSignal();

const out = await hapax.run({ scope: "orders", key: order }, async (ctx) => {
  const shelf = await ctx.step("reserve stock", () => {
    happen(folder, `reserve stock for ${order}`);
    return "shelf B4";
  });
  tell({ kind: "working", token: ctx.token, attempt: ctx.attempt });
  await sleep(100);
  await ctx.step("hand to courier", () => happen(folder, `courier takes ${order}`));
  return `shipped from ${shelf}`;
});

tell({ kind: "finished", value: out.value });
await hapax.close();
process.disconnect();
