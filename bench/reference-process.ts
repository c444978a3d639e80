import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { cpuMsOf, peakMbOf, resetPeak, type Use, useOf } from './process-use.ts';
import { median } from './report/statistics.ts';

/** The programs of `reference/`. */
export type ReferenceName =
  | 'plain-script'
  | 'transfer'
  | 'transfer-and-parse'
  | 'copy'
  | 'posts'
  | 'retrying-sender';

/** What a reference says of a job: the ms that it took, and whatever else it counts. */
export type Told = Readonly<Record<string, number>> & { readonly ms: number };

const told = z.object({ ms: z.number() }).catchall(z.number());

/** A reference that runs, and does its job when it is told to. */
export class ReferenceProcess {
  readonly process: ChildProcess;
  readonly exited: Promise<void>;
  readonly #answers: AsyncIterator<string>;
  #stderr = '';

  constructor(name: ReferenceName, args: Readonly<Record<string, string>>) {
    const program = fileURLToPath(new URL(`reference/${name}.ts`, import.meta.url));
    const flags = Object.entries(args).flatMap(([flag, value]) => [`--${flag}`, value]);
    const child = spawn(process.execPath, [program, ...flags], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    this.process = child;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    // Told of by its exit; what it was not given any more does not matter.
    child.stdin.on('error', () => undefined);
    this.#answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    this.exited = once(child, 'close').then(([code]) => {
      if (code !== 0) throw new Error(`${name} ended with ${code}: ${lastLines(this.#stderr)}`);
    });
    this.exited.catch(() => undefined);
  }

  /** Has the job done once. @throws Error when the program fails */
  async run(): Promise<Told> {
    this.process.stdin?.write('\n');
    const answer = await this.#answers.next();
    if (answer.done) {
      await this.exited;
      throw new Error('a reference ended before its job');
    }
    return told.parse(JSON.parse(answer.value));
  }

  /** Lets it end. */
  async close(): Promise<void> {
    this.process.stdin?.end();
    await this.exited;
  }
}

/** Runs a reference once, from the start of its process to the end. @throws Error when it fails */
export async function runReference(
  name: ReferenceName,
  args: Readonly<Record<string, string>>,
): Promise<Use & { readonly told: Told }> {
  let answer: Promise<Told> | undefined;
  const use = await useOf(() => {
    const reference = new ReferenceProcess(name, args);
    answer = reference.run();
    answer.catch(() => undefined); // it is awaited below, when the process has ended
    reference.process.stdin?.end();
    return reference;
  });
  if (answer === undefined) throw new Error(`${name} was not started`);
  return { ...use, told: await answer };
}

/** What a job took of a process that had done it before: the medians of several times. */
export interface WarmUse {
  readonly ms: number;
  readonly cpuMs: number;
  readonly peakMb: number;
}

/** Has a reference do its job once to warm up, and then `times` times. @throws Error when it fails */
export async function warmReference(
  name: ReferenceName,
  args: Readonly<Record<string, string>>,
  times: number,
): Promise<WarmUse> {
  const reference = new ReferenceProcess(name, args);
  await reference.run();
  const { pid } = reference.process;
  resetPeak(pid);
  const cpuBeforeMs = cpuMsOf(pid);
  const ms: number[] = [];
  for (let time = 0; time < times; time += 1) ms.push((await reference.run()).ms);
  const use = { ms: median(ms), cpuMs: (cpuMsOf(pid) - cpuBeforeMs) / times, peakMb: peakMbOf(pid) ?? 0 };
  await reference.close();
  return use;
}

function lastLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.find((line) => /Error/.test(line)) ?? lines.at(-1) ?? 'it said nothing';
}
