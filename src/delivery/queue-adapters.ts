import type { BaseAdapter } from '@bull-board/api/baseAdapter';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { Queue } from 'bullmq';

/** The Bull Board adapters of queues. A queue keeps its adapter. */
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
