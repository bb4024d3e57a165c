export type Invariant =
  | ("I1" | "I1b" | "I1c" | "I2" | "I3" | "I5" | "I6" | "I7" | "I7b" | "I8" | "I9" | "I10" | "I11")
  | "F6";

/** What must hold in every run. The numbers are those of the model of the same protocol; I4 is about transactions. */
export const INVARIANTS: Readonly<Record<Invariant, string>> = {
  I1: "never two executions that trust a claim on one key at the same time",
  I1b: "who trusts its claim holds the record's current token and a live lease",
  I1c: "the signal of a lost claim aborts before another is let in, unless its process stood still",
  I2: "what is served, replayed or called stored is what the store accepted",
  I3: "tokens only grow, and only the newest changes anything",
  I5: "under hold nothing runs a second time without a decision, and a decision hits only what it was made about",
  I6: "a settled key stays settled, the way it was settled, for its whole retention",
  I7: "every call ends, a fresh caller gets to an end, and nothing is left behind",
  I7b: "a claim that is sent again gets its own grant back, and a grant that nobody wants is given back",
  I8: "seen is exact without faults and else between acknowledged and sent; runs is grants less releases",
  I9: "a record past its retention answers nothing",
  I10: "one payload is served in one retention",
  I11: "a step that was acknowledged is not run again, and its result is kept",
  F6: "what is refused changes nothing",
};

/** Collects what was broken; the run stops at its next step. Throwing where it is found would end up in hapax's own handlers. */
export interface Verdict {
  broken(invariant: Invariant, how: string): void;
  readonly first: { readonly invariant: Invariant; readonly how: string } | undefined;
}

export function createVerdict(): Verdict {
  let first: Verdict["first"];
  return {
    broken(invariant, how) {
      first ??= { invariant, how };
    },
    get first() {
      return first;
    },
  };
}
