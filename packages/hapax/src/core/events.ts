import type { ErrorCode } from "../errors.js";
import { HapaxError } from "../errors.js";
import type { Token } from "./record.js";

interface About {
  readonly scope: string;
  readonly key: string;
}

interface AboutClaim extends About {
  readonly token: Token;
  readonly attempt: number;
}

/** What happens, by name. Keys are whole here: cut them before you log them. */
export interface HapaxEvents {
  /** A call got the claim and runs. */
  readonly claimed: AboutClaim;
  /** The claim was taken from a holder whose lease ran out. `claimed` follows. */
  readonly takeover: AboutClaim;
  /** A duplicate got the stored result. `joined`: from an execution of this process. */
  readonly replayed: AboutClaim & { readonly joined: boolean };
  /** A duplicate met a running claim. `waits`: it stays for the result. */
  readonly busy: About & { readonly waits: boolean };
  /** The key arrived with another payload. */
  readonly mismatch: About;
  readonly completed: AboutClaim;
  readonly failed: AboutClaim & { readonly final: boolean; readonly error: unknown };
  /** A claim was given back without having run. */
  readonly released: About & { readonly token: Token };
  /** The claim passed to someone else, or can no longer be trusted. */
  readonly lost: AboutClaim & { readonly code: ErrorCode };
  readonly heartbeat: AboutClaim;
  readonly heartbeat_failed: AboutClaim & { readonly error: unknown };
  /** The function ran, and its result could not be stored. */
  readonly "not-stored": AboutClaim & { readonly error: unknown };
  /** The store was down and the work ran without a claim. A person should look. */
  readonly unprotected: About & { readonly error: unknown };
  /** A record was found abandoned under `hold`. */
  readonly uncertain: AboutClaim;
  readonly resolved: About & { readonly token: Token; readonly status: "done" | "failed" };
  /** The function ran longer than its timeout and was left to its lease. */
  readonly timeout: AboutClaim;
}

export type EventName = keyof HapaxEvents;
export type Listener<Name extends EventName> = (event: HapaxEvents[Name]) => void;

export interface Events {
  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void;
  /** The event is made of its subject only if somebody listens. */
  emit<Name extends EventName, Subject>(
    name: Name,
    make: (subject: Subject) => HapaxEvents[Name],
    subject: Subject,
  ): void;
  emit<Name extends EventName>(name: Name, make: () => HapaxEvents[Name]): void;
}

export const EVENT_NAMES: readonly EventName[] = [
  "claimed",
  "takeover",
  "replayed",
  "busy",
  "mismatch",
  "completed",
  "failed",
  "released",
  "lost",
  "heartbeat",
  "heartbeat_failed",
  "not-stored",
  "unprotected",
  "uncertain",
  "resolved",
  "timeout",
];

/** A listener that throws harms nobody: the error goes to `onListenerError`. */
export function createEvents(onListenerError: (name: EventName, error: unknown) => void): Events {
  const listeners = new Map<EventName, Set<(event: never) => void>>(EVENT_NAMES.map((name) => [name, new Set()]));
  const of = (name: EventName): Set<(event: never) => void> => {
    const set = listeners.get(name);
    if (set !== undefined) return set;
    throw new HapaxError(
      "invalid-option",
      `There is no event ${JSON.stringify(name)}. There are: ${EVENT_NAMES.join(", ")}.`,
    );
  };
  return {
    on(name, listener) {
      const set = of(name);
      set.add(listener);
      return () => set.delete(listener);
    },
    emit<Name extends EventName>(name: Name, make: (subject?: never) => HapaxEvents[Name], subject?: unknown) {
      const set = of(name);
      if (set.size === 0) return;
      const made = make(subject as never);
      for (const listener of set) {
        try {
          const returned: unknown = listener(made as never);
          if (returned instanceof Promise) returned.catch((error: unknown) => onListenerError(name, error));
        } catch (error) {
          onListenerError(name, error);
        }
      }
    },
  };
}
