import type { BucketAccess } from '../../bucket/bucket-options.ts';
import type { ObjectStore, Sending } from '../../bucket/object-store.ts';
import { LazyResource } from '../../platform/process/lazy-resource.ts';
import { DeadlinePassed, withinDeadline } from '../../platform/time/deadline.ts';
import { type AttemptUnderWay, WITHOUT_LEASE } from '../sink.ts';
import type { SinkParts } from '../sink-type.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { bucketUnavailable } from './bucket-unavailable.ts';
import {
  appearedMeanwhile,
  type ChooseFile,
  type Drop,
  type DroppedFile,
  type EarlierFiles,
} from './drop.ts';

/** Beginnings of the names of lead files below the prefix: directly in the drop, and in its day folders. */
const STARTS = ['leads-', 'day='];
const FILE_OF_LEADS = /^(?:day=[^/]+\/)?leads-[^/]*$/;

/**
 * A drop in a bucket, under a prefix. A file is an object, which leadsync stores in one request, so that no reader sees a part of it. Nothing
 * remains of an interrupted request.
 */
export class BucketDrop implements Drop {
  readonly #access: BucketAccess;
  readonly #prefix: string;
  readonly #parts: Pick<SinkParts, 'clock' | 'timeoutMs'>;
  readonly #store: LazyResource<ObjectStore>;

  /** @param prefix the beginning of every key: empty, or with a slash at its end */
  constructor(access: BucketAccess, prefix: string, parts: Pick<SinkParts, 'clock' | 'timeoutMs'>) {
    this.#access = access;
    this.#prefix = prefix;
    this.#parts = parts;
    this.#store = new LazyResource(async () => {
      const { ObjectStore } = await import('../../bucket/object-store.ts'); // several MB of packages that few installations need
      return new ObjectStore(access);
    });
  }

  get place(): string {
    return this.nameOf('');
  }

  /** Verifies that the bucket can be listed and written to. */
  async check(signal: AbortSignal): Promise<void> {
    const probe = async (within: AbortSignal) =>
      (await this.#store.get()).probe(this.#keyOf('.leadsync-check'), within);
    await this.#reach(signal, probe);
  }

  async write(name: string, content: Buffer, stop: AbortSignal, attempt?: AttemptUnderWay): Promise<void> {
    await this.#send(stop, attempt, async (objects, sending) => {
      if (!(await this.#create(objects, name, content, sending)))
        await objects.put(this.#keyOf(name), content, sending);
    });
  }

  async writeRest(
    { start, ending }: EarlierFiles,
    choose: ChooseFile,
    stop: AbortSignal,
    attempt?: AttemptUnderWay,
  ): Promise<void> {
    await this.#send(stop, attempt, async (objects, sending) => {
      const file = await choose(this.#read(objects, [start], ending, sending.signal));
      if (file && !(await this.#create(objects, file.name, file.content, sending)))
        throw appearedMeanwhile(this.nameOf(file.name));
    });
  }

  async *files(ending: string, signal: AbortSignal): AsyncGenerator<DroppedFile> {
    try {
      yield* this.#read(await this.#store.get(), STARTS, ending, signal);
    } catch (cause) {
      if (signal.aborted)
        throw new SinkUnavailable(`Reading ${this.place} was interrupted.`, { hint: '', cause });
      throw bucketUnavailable(this.#access, cause, { now: this.#parts.clock.now() });
    }
  }

  nameOf(name: string): string {
    return `s3://${this.#access.bucket}/${this.#keyOf(name)}`;
  }

  targetOf(name: string): string {
    return this.nameOf(name);
  }

  close(): Promise<void> {
    return this.#store.close(async (objects) => objects.close());
  }

  #keyOf(name: string): string {
    return this.#prefix + name;
  }

  /** Reads the lead files whose names begin with one of `starts`. Throws what `ObjectStore` throws. */
  async *#read(
    objects: ObjectStore,
    starts: readonly string[],
    ending: string,
    signal: AbortSignal,
  ): AsyncGenerator<DroppedFile> {
    for (const start of starts)
      for await (const key of objects.keys(this.#keyOf(start), signal)) {
        const name = key.slice(this.#prefix.length);
        if (!FILE_OF_LEADS.test(name) || !name.endsWith(ending)) continue;
        const content = await objects.read(key, signal);
        // Without content, a consumer removed the object after it was listed.
        if (content) yield { file: this.nameOf(name), content };
      }
  }

  /**
   * Stores a file unless its name is taken. Returns whether the file is stored, by this request or an earlier one; false if the name belongs
   * to a file with other content.
   */
  async #create(objects: ObjectStore, name: string, content: Buffer, sending: Sending): Promise<boolean> {
    const key = this.#keyOf(name);
    return (
      (await objects.create(key, content, sending)) || (await objects.holds(key, content, sending.signal))
    );
  }

  async #send(
    stop: AbortSignal,
    { confirmLease }: AttemptUnderWay = WITHOUT_LEASE,
    work: (objects: ObjectStore, sending: Sending) => Promise<void>,
  ): Promise<void> {
    let isUnsent = true;
    const beforeSending = () => {
      confirmLease();
      isUnsent = false;
    };
    const send = async (signal: AbortSignal) => work(await this.#store.get(), { signal, beforeSending });
    await this.#reach(stop, send, () => isUnsent);
  }

  async #reach(
    stop: AbortSignal,
    work: (signal: AbortSignal) => Promise<void>,
    isUnsent: () => boolean = () => true,
  ): Promise<void> {
    const { timeoutMs, clock } = this.#parts;
    try {
      await withinDeadline(timeoutMs, stop, work);
    } catch (cause) {
      const unsent = isUnsent();
      if (stop.aborted)
        throw new SinkUnavailable(`Writing to ${this.place} was interrupted.`, { hint: '', unsent, cause });
      if (cause instanceof SinkUnavailable) throw cause;
      if (!(cause instanceof DeadlinePassed))
        throw bucketUnavailable(this.#access, cause, { now: clock.now(), unsent });
      const hint = 'Check the connection to the storage service, raise `timeout`, or lower `batch.max`.';
      const message = `Writing to ${this.place} took longer than ${timeoutMs / 1000} s.`;
      throw new SinkUnavailable(message, { hint, unsent, cause });
    }
  }
}
