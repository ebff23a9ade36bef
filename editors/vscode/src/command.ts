/** The program and the arguments that start the server; the interpreter stands where the settings name it. */
export function commandOf(words: readonly string[], interpreter: string | undefined): { command: string; args: string[] } {
  const [command, ...args] = words.map((word) => word.replaceAll("${interpreter}", interpreter ?? "python"));
  if (!command) {
    throw new Error("amplint.command names no program");
  }
  return { command, args };
}
