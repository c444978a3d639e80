import type { Life } from './life.ts';
import type { Store } from './outside/store.ts';
import type { Action } from './scenario.ts';

/** A command of an operator. */
export type Command = Extract<Action, { do: 'pause' | 'resume' | 'retry' | 'replay' }>;

/**
 * Runs a command beside the daemon, as its own process. Returns a description of what it did. @throws LedgerError, or an error if it dies
 */
export async function command(action: Command, sink: string, store: Store, life: Life): Promise<string> {
  const { ledger, drop } = store.open(life);
  try {
    switch (action.do) {
      case 'pause':
        return `paused: ${await ledger.pause(sink, 'Somebody asked for it.')}`;
      case 'resume':
        return `resumed: ${await ledger.resume(sink)}`;
      case 'retry':
        return `retried: ${await ledger.retry({ sink, ...(action.dead ? { states: ['dead'] } : {}) })}`;
      case 'replay': {
        const lead = action.lead === undefined ? undefined : BigInt(action.lead);
        return `replayed: ${await ledger.replay(sink, { lead })}`;
      }
    }
  } finally {
    drop();
  }
}
