import { answered } from "./answered.js";
import type { CancelTimer } from "./clock.js";
import type { Engine } from "./engine.js";

/** Deletes records past their retention, in the background and in small pieces. */
export interface Upkeep {
  stop(): void;
}

const RECORDS_A_PIECE = 1_000;
/** Between two pieces others get their turn at the store. */
const PAUSE_MS = 20;

export function createUpkeep(
  engine: Pick<Engine, "store" | "clock" | "storeTimeoutMs" | "logger">,
  everyMs: number,
): Upkeep {
  const { clock, logger } = engine;
  let cancel: CancelTimer | undefined;
  let stopped = false;
  const schedule = (ms: number) => {
    if (!stopped) cancel = clock.after(ms, () => void piece(), { keepAlive: false });
  };

  async function piece(): Promise<void> {
    try {
      const { more } = await answered(engine, engine.store.purge(RECORDS_A_PIECE));
      schedule(more ? PAUSE_MS : everyMs);
    } catch (error) {
      logger.warn("upkeep: expired records were not deleted; it will try again", { error });
      schedule(everyMs);
    }
  }

  schedule(everyMs);
  return {
    stop() {
      stopped = true;
      cancel?.();
    },
  };
}
