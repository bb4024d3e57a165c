import { createHapax, HapaxError, permanent } from "../../packages/hapax/src/index.js";
import { memoryStore } from "../../packages/hapax/src/stores/memory/index.js";

/** What the simulation needs of hapax: the real one, or a copy with a planted bug. */
export interface Library {
  readonly createHapax: typeof createHapax;
  readonly memoryStore: typeof memoryStore;
  readonly permanent: typeof permanent;
  readonly HapaxError: typeof HapaxError;
}

export const realLibrary: Library = { createHapax, memoryStore, permanent, HapaxError };
