import {
  type Answer,
  type Answers,
  type Asked,
  type StorageServer,
  startStorage,
} from '../support/servers/storage-server.ts';

/** A file as it was stored in a bucket. */
export interface StoredFile {
  readonly name: string;
  readonly content: Buffer;
  /** When it was stored, and when the request for it was sent. By `performance.now()`. */
  readonly atMs: number;
  readonly sentMs: number;
}

/** A storage with a bucket for CSV files, which records everything that was stored in it. */
export class WatchedStorage {
  /** Every file, oldest first; one that was stored again occurs again. */
  readonly stored: StoredFile[] = [];
  #server: StorageServer | undefined;
  #answers: Answers = () => undefined;

  /** Starts the storage. Returns what the configuration of a sink says of it. */
  async start(): Promise<Readonly<Record<string, unknown>>> {
    this.#server = await startStorage((asked) => this.#answer(asked));
    const { type: _, bucket, ...access } = this.#server.options;
    return { to: `s3://${bucket}/leads`, ...access };
  }

  /** Returns the last content of each file, in the order of their names. */
  files(): StoredFile[] {
    const byName = new Map(this.stored.map((file) => [file.name, file]));
    return [...byName.values()].sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  }

  /** Sets the answer to every request from now on; undefined leaves a request to the storage. */
  answerAlways(answers: Answers): void {
    this.#answers = answers;
  }

  /** Stores everything from now on. */
  takeAll(): void {
    this.answerAlways(() => undefined);
  }

  close(): void {
    this.#server?.close();
  }

  async #answer(asked: Asked): Promise<Answer | undefined> {
    const answer = await this.#answers(asked);
    const { method, key, headers, content } = asked;
    const isStored = answer === undefined || answer === 'done and cut';
    const isRefused = headers['if-none-match'] === '*' && this.#server?.objects.has(key);
    if (method === 'PUT' && key.endsWith('.csv') && isStored && !isRefused)
      this.stored.push({ name: key, content, atMs: performance.now(), sentMs: sentAt(headers) });
    return answer;
  }
}

/** Returns when a request was signed (AWS Signature Version 4: `X-Amz-Date`). */
function sentAt({ 'x-amz-date': date }: Asked['headers']): number {
  const signed = String(date).replace(/^(....)(..)(..T..)(..)/, '$1-$2-$3:$4:');
  return performance.now() - (Date.now() - Date.parse(signed));
}
