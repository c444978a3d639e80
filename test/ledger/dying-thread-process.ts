import { openInThread } from '../../src/ledger/thread/open-in-thread.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import type { TestThread } from './a-thread.ts';

// Sends a request to a ledger whose thread dies of it.
const [, , file = ''] = process.argv;
const program = new URL('./a-thread.ts', import.meta.url);
const begin: TestThread = { file, create: true, status: 'it-dies' };
const { ledger } = await openInThread<TestThread, never>(program, begin, { file, clock: systemClock });
await ledger.status();
