import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import { ExecSink } from '../../../src/sinks/exec/exec.ts';
import { execOptions } from '../../../src/sinks/exec/options.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { someParts } from '../some-parts.ts';

/** Options as they stand in the YAML; every test has its own folder. */
export type ExecInput = z.input<ReturnType<typeof execOptions>>;

/** Opens an exec sink from options as they stand in the YAML. */
export function openExec(options: ExecInput, parts: Partial<SinkParts> = {}): Sink {
  return new ExecSink(execOptions().parse(options), someParts({ batchMax: 1000, ...parts }));
}

/** A folder with programs, for one test. */
export class ProgramFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'leadsync-test-'));

  /** Returns a command that runs this JavaScript, which has the names of Node's modules that it needs. */
  node(name: string, code: string): string[] {
    const file = join(this.path, `${name}.cjs`);
    writeFileSync(file, `${PRELUDE}\n${code}`);
    return [process.execPath, file];
  }

  /** Writes a file, executable unless the mode says otherwise, and returns its path. */
  file(name: string, content: string, mode = 0o755): string {
    const file = join(this.path, name);
    writeFileSync(file, content);
    chmodSync(file, mode);
    return file;
  }

  at(name: string): string {
    return join(this.path, name);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** What the fakes share. `main` gets the whole input; an error ends the program with exit code 1. */
const PRELUDE = `
const fs = require('node:fs');
const path = require('node:path');
const here = (name) => path.join(__dirname, name);
const readAll = () => fs.readFileSync(0, 'utf8');
const linesOf = (text) => text.split('\\n').filter((line) => line !== '');
`;
