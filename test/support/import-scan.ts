import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** Source files by their path from the project's root, with `/`. */
export type Files = ReadonlyMap<string, string>;

export interface Import {
  /** As written: `./a.ts`, `node:fs`, `pg`; undefined for an `import()` of a computed name. */
  readonly specifier: string | undefined;
  /** A file of the project by its path from the root; undefined for packages. */
  readonly file: string | undefined;
}

/** Reads every TypeScript file under a folder of the project. */
export function readFiles(root: string, folder: string): Files {
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => posix.join(folder, path.replaceAll('\\', '/')))
    .filter((path) => path.endsWith('.ts'));
  return new Map(paths.sort().map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

/**
 * Everything a file imports: values and types, static and dynamic, re-exported or for its effects. A line of a comment
 * that looks like an import counts as one: a scan that sees too much is noticed, one that sees too little is not.
 */
export function importsOf(path: string, text: string): Import[] {
  const statics = [...text.matchAll(STATIC)].map((match) => match[2]);
  const dynamics = [...text.matchAll(DYNAMIC)].map((match) => match[2]);
  return [...statics, ...dynamics].map((specifier) => ({
    specifier,
    file: specifier?.startsWith('.') ? posix.join(posix.dirname(path), specifier) : undefined,
  }));
}

/** Whether a file hands on what it imports (`export … from`). */
export function handsOn(text: string): boolean {
  return /^\s*export\b[^'"`;=()]*?\bfrom\s*['"]/m.test(text);
}

/** The text without comments, for rules about words. A `//` inside a string stays when no space is before it. */
export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, ' ').replace(/(^|\s)\/\/.*$/gm, '$1');
}

/** The first circle of imports that is found, as the files in it; the first comes again at the end. */
export function findCircle(files: Files): string[] | undefined {
  const done = new Set<string>();
  const visit = (path: string, trail: string[]): string[] | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const { file } of importsOf(path, files.get(path) ?? '')) {
      const circle = file === undefined ? undefined : visit(file, [...trail, path]);
      if (circle) return circle;
    }
    done.add(path);
    return undefined;
  };
  for (const path of files.keys()) {
    const circle = visit(path, []);
    if (circle) return circle;
  }
  return undefined;
}

/** `import … from 'x'`, `import 'x'`, `export … from 'x'`, over several lines. */
const STATIC = /(?:^|;)[ \t]*(?:import|export)\b(?:[^'"`;=()]*?\bfrom)?\s*(['"])([^'"\n]+)\1/gm;
/** `import('x')`, as a value or as a type, and `require('x')`; without a group for a computed name. */
const DYNAMIC = /(?<![.\w])(?:import|require)\s*\(\s*(?:(['"`])([^'"`$\n]+)\1\s*[,)])?/g;
