import type { BaseAdapter } from '@bull-board/api/baseAdapter';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { Queue } from 'bullmq';

/** Keeps one Bull Board adapter for each queue, so that the same queue always gets the same adapter. */
export class QueueAdapters {
  readonly #adapters = new WeakMap<Queue, BaseAdapter>();

  of(queues: Iterable<Queue>): readonly BaseAdapter[] {
    return [...queues].map((queue) => {
      const adapter = this.#adapters.get(queue) ?? new BullMQAdapter(queue, { readOnlyMode: true });
      this.#adapters.set(queue, adapter);
      return adapter;
    });
  }
}
