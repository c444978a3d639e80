import { startEngineThread } from '../../src/ledger/thread/start-engine-thread.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import type { TestThread } from './a-thread.ts';

// Sends a request to a ledger whose thread dies of it.
const [, , file = ''] = process.argv;
const program = new URL('./a-thread.ts', import.meta.url);
const begin: TestThread = { file, create: true, status: 'it-dies' };
const { ledger } = await startEngineThread<TestThread, never>(program, begin, { file, clock: systemClock });
await ledger.status();
