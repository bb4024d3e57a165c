import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, open, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HapaxError } from "../../src/errors.js";
import { type FileSource, fileKey } from "../../src/keys/file-key.js";

const MIB = 1024 * 1024;
const content = Buffer.from("The quick brown fox jumps over the lazy dog");
/** As published with the algorithm's descriptions. */
const key = "sha256:d7a8fbb307d7809469ca9abcb0082e4f8d5651e46d3cdb762d02d0bf37c9e592";

let folder: string;
let path: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "hapax-file-key-"));
  path = join(folder, "fox.txt");
  await writeFile(path, content);
});

afterAll(() => rm(folder, { recursive: true }));

async function refusalOf(source: unknown): Promise<HapaxError> {
  const error = await fileKey(source as FileSource).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(HapaxError);
  return error as HapaxError;
}

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (const byte of content) yield Uint8Array.of(byte);
}

describe("F1: the key of a file is the SHA-256 of its bytes", () => {
  it.each<[string, () => FileSource]>([
    ["a path", () => path],
    ["a file URL", () => pathToFileURL(path)],
    ["a Buffer", () => content],
    [
      "a piece of a larger Uint8Array",
      () => new Uint8Array(Buffer.concat([content, content])).subarray(0, content.length),
    ],
    ["an ArrayBuffer", () => new Uint8Array(content).buffer],
    ["a Blob", () => new Blob([content])],
    ["a file stream", () => createReadStream(path, { highWaterMark: 7 })],
    ["a Readable", () => Readable.from(pieces())],
    ["a web stream", () => new Blob([content]).stream()],
    ["a Response's body", () => new Response(content).body ?? ""],
    ["an async iterable", () => pieces()],
    ["an array of pieces", () => [content.subarray(0, 10), content.subarray(10)]],
  ])("whether it comes as %s", async (_, source) => {
    expect(await fileKey(source())).toBe(key);
  });

  it("also when there are none", async () => {
    const empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    expect(await fileKey(new Uint8Array())).toBe(empty);
    expect(await fileKey([])).toBe(empty);
  });

  it("also when they are more than are hashed in one piece", async () => {
    const large = Buffer.alloc(65 * MIB, "hapax");
    expect(await fileKey(large)).toBe(`sha256:${createHash("sha256").update(large).digest("hex")}`);
  });

  it("so that a renamed file keeps its key", async () => {
    const before = join(folder, "before.bin");
    const after = join(folder, "after.pdf");
    await writeFile(before, content);
    const first = await fileKey(before);
    await rename(before, after);
    expect(await fileKey(after)).toBe(first);
  });

  it("so that one changed byte changes it", async () => {
    expect(await fileKey(Buffer.from(content).fill(0, 0, 1))).not.toBe(key);
  });
});

describe("F1: reading takes constant memory", () => {
  it("for a stream of 512 MiB", async () => {
    const expected = createHash("sha256");
    const startBytes = process.memoryUsage().arrayBuffers;
    let peakBytes = 0;
    async function* large(): AsyncGenerator<Uint8Array> {
      for (let piece = 0; piece < 512; piece++) {
        const chunk = Buffer.alloc(MIB, piece);
        expected.update(chunk);
        peakBytes = Math.max(peakBytes, process.memoryUsage().arrayBuffers - startBytes);
        yield chunk;
      }
    }
    expect(await fileKey(large())).toBe(`sha256:${expected.digest("hex")}`);
    expect(peakBytes).toBeLessThan(128 * MIB);
  });

  it("for a file of 256 MiB", async () => {
    const file = join(folder, "large.bin");
    const handle = await open(file, "w");
    await handle.truncate(256 * MIB);
    await handle.close();
    const startBytes = process.memoryUsage().arrayBuffers;
    let peakBytes = 0;
    const watch = setInterval(() => {
      peakBytes = Math.max(peakBytes, process.memoryUsage().arrayBuffers - startBytes);
    }, 1);
    // sha256sum of as many zeros
    expect(await fileKey(file)).toBe("sha256:a6d72ac7690f53be6ae46ba88506bd97302a093f7108472bd9efc3cefda06484");
    clearInterval(watch);
    expect(peakBytes).toBeLessThan(128 * MIB);
  });
});

describe("F1: a key that would not be that of the whole file is refused", () => {
  it("for a stream in text mode, which is closed", async () => {
    const stream = createReadStream(path, { encoding: "utf8" });
    const error = await refusalOf(stream);
    expect(error.code).toBe("invalid-option");
    expect(error.message).toContain("open the stream without an encoding");
    expect(stream.destroyed).toBe(true);
  });

  it("for a stream that was read before", async () => {
    const node = Readable.from([content]);
    await fileKey(node);
    expect((await refusalOf(node)).message).toContain("has been read from already");
    const web = new Blob([content]).stream();
    await fileKey(web);
    expect((await refusalOf(web)).message).toContain("has been read from already");
  });

  it("for a stream that breaks off, with its own error", async () => {
    const broken = new PassThrough();
    broken.write(content);
    const reading = fileKey(broken);
    broken.destroy(new Error("connection lost"));
    await expect(reading).rejects.toThrow("connection lost");
  });

  it("for pieces that are no bytes", async () => {
    expect((await refusalOf([1, 2, 3])).code).toBe("invalid-option");
    expect((await refusalOf([new Float64Array(1)])).code).toBe("invalid-option");
  });

  it("for what is no file", async () => {
    for (const source of [undefined, null, 7, {}, () => content]) {
      expect((await refusalOf(source)).message).toContain("fileKey needs a path");
    }
    expect((await refusalOf(new URL("https://example.com/a.pdf"))).message).toContain("file: URLs only");
  });

  it("for a file that is not there, or a folder, with Node's own error", async () => {
    await expect(fileKey(join(folder, "none"))).rejects.toMatchObject({ code: "ENOENT" });
    await expect(fileKey(folder)).rejects.toMatchObject({ code: "EISDIR" });
  });
});
