import type { Life } from './life.ts';
import type { Store } from './outside/store.ts';
import type { Action } from './scenario.ts';

/** What somebody can ask for. */
export type Command = Extract<Action, { do: 'pause' | 'resume' | 'retry' | 'replay' }>;

/** A command beside the daemon, as a process of its own. Gives what it has done. @throws LedgerError, or when it dies */
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
