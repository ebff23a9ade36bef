import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf } from "../src/command.ts";

test("the program stands first", () => {
  assert.deepEqual(commandOf(["amplint", "server"], undefined), { command: "amplint", args: ["server"] });
});

test("the interpreter stands where it is named, and is python where none is chosen", () => {
  const words = ["${interpreter}", "-m", "amplint", "server"];
  assert.equal(commandOf(words, "/venv/bin/python").command, "/venv/bin/python");
  assert.equal(commandOf(words, undefined).command, "python");
});

test("a command without a program is refused", () => {
  assert.throws(() => commandOf([], undefined), /names no program/);
});
