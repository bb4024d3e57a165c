import type { Duration, EventName } from "../../../src/index.js";

/** What the test tells a process to do. */
export type Command =
  | { readonly kind: "hold"; readonly key: string; readonly lease: Duration }
  | { readonly kind: "finish"; readonly key: string; readonly value: string }
  | { readonly kind: "fail"; readonly key: string; readonly message: string }
  | { readonly kind: "extend"; readonly key: string; readonly token: string }
  | { readonly kind: "storm"; readonly keys: readonly string[]; readonly times: number };

/** What a process tells the test. */
export type Report =
  | { readonly kind: "ready" }
  | { readonly kind: "started"; readonly key: string; readonly token: string; readonly attempt: number }
  | { readonly kind: "aborted"; readonly key: string; readonly code: string }
  | {
      readonly kind: "ended";
      readonly key: string;
      readonly value: unknown;
      readonly replayed: boolean;
      readonly attempt: number;
    }
  | { readonly kind: "threw"; readonly key: string; readonly code: string }
  | { readonly kind: "extended"; readonly key: string; readonly answer: string }
  | { readonly kind: "stormed"; readonly values: readonly string[]; readonly errors: readonly string[] }
  | { readonly kind: "event"; readonly name: EventName; readonly key: string; readonly code: string | undefined };
