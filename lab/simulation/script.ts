import type { HapaxRecord } from "../../packages/hapax/src/index.js";
import { SCOPE } from "./observer/observer.js";
import { CallerLeft } from "./observer/outcomes.js";
import type { Command, OperatorCommand } from "./plan.js";
import { decidedValue, type SimulatedProcess } from "./process.js";
import type { World } from "./world.js";

/** Does what a command of the script says. What cannot be done any more is left out. */
export async function perform(world: World, command: Command): Promise<void> {
  switch (command.does) {
    case "calls":
      for (const call of command.calls) {
        const process = processOf(world, call.process);
        if (!process.alive || process.standing || process.isClosed()) continue;
        for (let copy = 0; copy < call.copies; copy += 1) process.start(call, keyOf(world, call.key));
      }
      return world.passTime(0);
    case "deliver":
      for (let each = 0; each < command.messages; each += 1) if (!(await world.deliver())) return;
      return;
    case "pass":
      return world.passTime(command.ms);
    case "leave":
      return leave(world, command.call);
    case "stall":
    case "suspend":
      return processOf(world, command.process).stand(command.ms, command.does === "suspend");
    case "cut":
      return processOf(world, command.process).cutOff(command.ms, command.direction);
    case "close":
      return close(world, command);
    case "set-wall":
      return processOf(world, command.process).setWall(command.byMs);
    case "crash":
      return crash(world, command);
    case "set-store-back":
      return world.setStoreBack(command.byMs);
    default:
      void operate(world, command).catch(() => {
        // Refused, or the network failed: an operator who wants more looks again.
      });
      return world.passTime(0);
  }
}

/** The plan's processes stand first; a restarted one takes the place of the one that crashed. */
function processOf(world: World, index: number): SimulatedProcess {
  const { processes, plan } = world;
  const found = processes[index % plan.processes.length];
  if (found === undefined) throw new RangeError(`There is no process ${index}.`);
  return found;
}

export function keyOf({ plan }: World, index: number): string {
  return `k${(index % plan.keys) + 1}`;
}

async function leave(world: World, index: number): Promise<void> {
  const waiting = world.processes
    .filter(({ alive, standing }) => alive && !standing)
    .flatMap(({ pending }) => [...pending])
    .filter(([, controller]) => controller !== undefined);
  const [call, controller] = waiting[index % Math.max(1, waiting.length)] ?? [];
  if (call === undefined) return;
  world.timeline.add(call.host.name, `the caller of call ${call.number} leaves`);
  controller?.abort(new CallerLeft());
  await world.passTime(0);
}

function crash(world: World, { process: index, losesMessages, restarts }: Command & { does: "crash" }): void {
  const process = processOf(world, index);
  if (!process.alive) return;
  process.crash(losesMessages);
  if (restarts) restart(world, index);
}

async function close(
  world: World,
  { process: index, timeoutMs, restarts }: Command & { does: "close" },
): Promise<void> {
  const process = processOf(world, index);
  if (!process.alive || process.standing || process.isClosed()) return;
  process.close(timeoutMs);
  await world.passTime(0);
  if (restarts) restart(world, index);
}

/** The old one may have work to end, so it stays in the world. */
function restart(world: World, index: number): void {
  const { processes, plan } = world;
  const place = index % plan.processes.length;
  const spec = plan.processes[place];
  const old = processes[place];
  if (spec === undefined || old === undefined) return;
  processes[place] = world.spawn(`${old.name}'`, spec);
  if (old.alive) processes.push(old);
}

/** An operator looks first, and then decides about what it saw; both travel like everything else. */
async function operate(world: World, command: OperatorCommand): Promise<void> {
  const operator = world.processes[world.plan.processes.length];
  if (operator === undefined) return;
  const { hapax } = operator;
  switch (command.does) {
    case "forget":
      await hapax.forget({ scope: SCOPE, key: keyOf(world, command.key) }, { force: command.force });
      return;
    case "purge":
      await hapax.purge();
      return;
    case "list":
      await hapax.list({ scope: SCOPE });
      return;
    case "resolve": {
      const record = await hapax.get({ scope: SCOPE, key: keyOf(world, command.key) });
      if (record !== undefined) await decide(operator, record, command.to);
    }
  }
}

async function decide(
  { hapax }: SimulatedProcess,
  { scope, key, token, status }: HapaxRecord,
  to: "done" | "failed" | "final",
): Promise<void> {
  if (status !== "uncertain" && status !== "failed") return;
  const target = { scope, key, token, status };
  if (to === "done") return hapax.resolve(target, { status: "done", value: decidedValue(token) });
  return hapax.resolve(target, { status: "failed", final: to === "final" });
}
