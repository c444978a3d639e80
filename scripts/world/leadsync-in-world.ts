import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Daemon,
  type LeadsyncOptions,
  runLeadsync,
  startDaemon,
} from '../../test/support/program/leadsync.ts';
import { logIn } from '../../test/support/program/log-in.ts';
import { type Opened, ToolFailure } from '../../test/support/program/tool.ts';

/** leadsync as the world runs it: a child process of this checkout, with the configuration and the variables of the world. */
export class LeadsyncInWorld {
  readonly adminUrl: string;
  readonly #configFile: string;
  readonly #logFile: string;
  readonly #how: LeadsyncOptions;

  constructor(
    parts: { readonly root: string; readonly configFile: string; readonly folder: string },
    variables: Readonly<Record<string, string>>,
  ) {
    this.adminUrl = `http://127.0.0.1:${variables['WORLD_ADMIN_PORT']}`;
    this.#configFile = parts.configFile;
    this.#logFile = join(parts.folder, 'leadsync.log');
    this.#how = {
      cwd: parts.root,
      env: { LEADSYNC_COMMAND: process.env['LEADSYNC_COMMAND'], ...variables },
    };
  }

  /** Logs a person in at the south, with `leadsync login`. */
  logIn(): Promise<void> {
    return logIn(this.#configFile, 'south', this.#how);
  }

  /** Makes the properties that HubSpot lacks. @throws ToolFailure */
  setUpHubSpot(): Promise<void> {
    return this.#command('setup', 'hubspot', '--yes');
  }

  /** Skips what a sink that was removed from the configuration is still owed. @throws ToolFailure */
  forget(sink: string): Promise<void> {
    return this.#command('forget', sink, '--yes');
  }

  /** Starts the daemon and waits until it is ready. Its log goes to leadsync.log. */
  run(opened: Opened): Promise<Daemon> {
    return opened.add(
      () =>
        startDaemon(this.#configFile, this.adminUrl, {
          ...this.#how,
          onStderr: (text) => appendFileSync(this.#logFile, text),
        }),
      (daemon) => daemon.process.exitCode === null && daemon.kill('SIGKILL'),
    );
  }

  async #command(...words: string[]): Promise<void> {
    const { code, stderr } = await runLeadsync([...words, '-c', this.#configFile], this.#how);
    if (code !== 0) throw new ToolFailure(`leadsync ${words.join(' ')} failed.\n${stderr}`);
  }
}
