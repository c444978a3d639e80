import { readFileSync, writeFileSync } from 'node:fs';
import { type Document, parseDocument } from 'yaml';

/** The sink that an operator tries, and gives up again. Nothing listens at its address. */
export const TRIAL = 'trial';
const TRIAL_OPTIONS = {
  type: 'webhook',
  url: 'http://127.0.0.1:9/hook',
  secret: '${WORLD_WEBHOOK_SECRET}',
  backfill: true,
};

/** The file that leadsync reads, which the timetable changes: a copy of config/world.yaml. leadsync reloads it by itself. */
export class ConfigurationFile {
  readonly path: string;
  readonly #original: string;

  /** Writes the copy to `path`. */
  constructor(original: string, path: string) {
    this.path = path;
    this.#original = readFileSync(original, 'utf8');
    this.restore();
  }

  /** Returns to the original. */
  restore(): void {
    writeFileSync(this.path, this.#original);
  }

  /** Adds a mistake, so that leadsync keeps the configuration in force. */
  spoil(): void {
    this.#change((document) => document.setIn(['sinks', 'flaky', 'concurrency'], 'many'));
  }

  /** Adds the sink `trial`, which gets every lead in the ledger. */
  addTrial({ enabled }: { readonly enabled: boolean }): void {
    this.#change((document) => document.setIn(['sinks', TRIAL], { ...TRIAL_OPTIONS, enabled }));
  }

  /** Requires more free space than any disk has. */
  requireSpace(): void {
    this.#change((document) => document.set('ledger', { min_free: '900000gb' }));
  }

  /** Makes a change to the original. */
  #change(make: (document: Document) => void): void {
    const document = parseDocument(this.#original);
    make(document);
    writeFileSync(this.path, document.toString());
  }
}
