import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { cpuMsOf, peakMbOf, resetPeak, type Use, useOf } from './process-use.ts';
import { median } from './report/statistics.ts';

/** The names of the programs in `reference/`. */
export type ReferenceName =
  | 'plain-script'
  | 'transfer'
  | 'transfer-and-parse'
  | 'map-leads'
  | 'copy'
  | 'posts'
  | 'retrying-sender';

/** The result of a job of a reference: its duration in ms, and its own counts. */
export type JobResult = Readonly<Record<string, number>> & { readonly ms: number };

const jobResult = z.object({ ms: z.number() }).catchall(z.number());

/** A running reference, which does its job at each call of `run`. */
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
    // Ignore a broken pipe: `exited` reports a reference that has ended.
    child.stdin.on('error', () => undefined);
    this.#answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    this.exited = once(child, 'close').then(([code]) => {
      if (code !== 0) throw new Error(`${name} ended with ${code}: ${lastLines(this.#stderr)}`);
    });
    this.exited.catch(() => undefined);
  }

  /** Runs the job once. @throws Error if the program fails */
  async run(): Promise<JobResult> {
    this.process.stdin?.write('\n');
    const answer = await this.#answers.next();
    if (answer.done) {
      await this.exited;
      throw new Error('a reference ended before its job was done');
    }
    return jobResult.parse(JSON.parse(answer.value));
  }

  /** Closes its standard input and waits until it has ended. */
  async close(): Promise<void> {
    this.process.stdin?.end();
    await this.exited;
  }
}

/** Runs a reference once, from the start of its process to its end. @throws Error if it fails */
export async function runReference(
  name: ReferenceName,
  args: Readonly<Record<string, string>>,
): Promise<Use & { readonly result: JobResult }> {
  let answer: Promise<JobResult> | undefined;
  const use = await useOf(() => {
    const reference = new ReferenceProcess(name, args);
    answer = reference.run();
    answer.catch(() => undefined); // awaited below, once the process has ended
    reference.process.stdin?.end();
    return reference;
  });
  if (answer === undefined) throw new Error(`${name} was not started`);
  return { ...use, result: await answer };
}

/** The resources that a warm process needs for its job: the median duration, the mean CPU time and the peak memory. */
export interface WarmUse {
  readonly ms: number;
  readonly cpuMs: number;
  readonly peakMb: number;
}

/** Runs the job of a reference once to warm up, and then `times` times. @throws Error if it fails */
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
  return lines.find((line) => /Error/.test(line)) ?? lines.at(-1) ?? 'it printed nothing';
}
