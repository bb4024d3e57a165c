import type { CancelTimer, Clock } from "./clock.js";
import type { Logger } from "./logger.js";
import type { RecordStore } from "./store.js";

/** Deletes records past their retention, in the background and in small pieces. */
export interface Upkeep {
  stop(): void;
}

const RECORDS_A_PIECE = 1_000;
/** Between two pieces others get their turn at the store. */
const PAUSE_MS = 20;

export function createUpkeep(
  { store, clock, logger }: { readonly store: RecordStore; readonly clock: Clock; readonly logger: Logger },
  everyMs: number,
): Upkeep {
  let cancel: CancelTimer | undefined;
  let stopped = false;
  const schedule = (ms: number) => {
    if (!stopped) cancel = clock.after(ms, () => void piece(), { keepAlive: false });
  };

  async function piece(): Promise<void> {
    try {
      const { more } = await store.purge(RECORDS_A_PIECE);
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
