import { describe, expect, it } from "vitest";
import { readText } from "./repository-files.js";

interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** What is needed and not locked. A mirror that lacks the packages of other platforms makes npm leave them out. */
function notLocked({ packages }: Lockfile): string[] {
  const locked = Object.keys(packages);
  return Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !locked.some((each) => each.endsWith(`node_modules/${name}`)))
      .map((name) => `${path} needs ${name}, which is not in the lockfile`),
  );
}

describe("the lockfile", () => {
  const lockfile = JSON.parse(readText("package-lock.json")) as Lockfile;

  it("has the packages of every platform, without which `npm ci` refuses it", () => {
    expect(notLocked(lockfile)).toEqual([]);
  });

  it("and would not pass without one of them", () => {
    const planted = { packages: { "node_modules/a": { optionalDependencies: { "a-darwin": "1.0.0" } } } };
    expect(notLocked(planted)).toEqual(["node_modules/a needs a-darwin, which is not in the lockfile"]);
  });

  it("names no place to download from, so that it works behind any mirror", () => {
    const resolved = Object.values(lockfile.packages).filter(({ resolved, link }) => resolved !== undefined && !link);
    expect(resolved).toEqual([]);
  });
});
