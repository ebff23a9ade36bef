import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";
import { commandOf } from "./command";

let client: LanguageClient | undefined;

/** Starts the server, and again when what starts it has changed. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("amplint.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("amplint.command")) {
        await restart();
      }
    }),
  );
  await restart();
}

/** Ends the server. */
export async function deactivate(): Promise<void> {
  await client?.stop();
  client = undefined;
}

async function restart(): Promise<void> {
  await deactivate();
  const words = vscode.workspace.getConfiguration("amplint").get<string[]>("command", []);
  const options: LanguageClientOptions = {
    documentSelector: [{ language: "python" }],
    synchronize: { configurationSection: "amplint" },
    initializationOptions: vscode.workspace.getConfiguration("amplint"),
  };
  try {
    client = new LanguageClient("amplint", "amplint", commandOf(words, await interpreter()), options);
    await client.start();
  } catch (problem) {
    void vscode.window.showErrorMessage(
      `amplint does not start (${problem}); \`pip install 'amplint[server]'\`, or set amplint.command`,
    );
  }
}

/** The interpreter that the Python extension has chosen, if it is there. */
async function interpreter(): Promise<string | undefined> {
  const python = vscode.extensions.getExtension("ms-python.python");
  if (python === undefined) {
    return undefined;
  }
  const api = await python.activate();
  return api?.environments?.getActiveEnvironmentPath?.()?.path;
}
