import { describe, expect, it } from "vitest";
import { ERRORS } from "../../packages/hapax/src/errors.js";
import { readText, tableRows } from "./repository-files.js";

describe("docs/errors.md and the table of errors say the same", () => {
  const page = readText("docs/errors.md");
  const sections = page.split(/^## /m).slice(1);

  it("in the table: code, status, whether a retry can help, and meaning", () => {
    const inCode = Object.entries(ERRORS).map(([code, { status, retryable, meaning }]) => {
      return [`[\`${code}\`](#${code})`, String(status), retryable ? "yes" : "no", meaning];
    });
    expect(tableRows(page, "code", "status", "retryable", "meaning")).toEqual(inCode);
  });

  it("with a section for each code, in the order of the table", () => {
    expect(sections.map((section) => section.split("\n", 1)[0])).toEqual(Object.keys(ERRORS));
  });

  it.each(sections)("%#: says what happened and what to do", (section) => {
    expect(section).toMatch(/^\*\*What happened\.\*\* \S.{20,}/m);
    expect(section).toMatch(/^\*\*What to do\.\*\* \S.{20,}/m);
  });
});
