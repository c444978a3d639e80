import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** The project's source files, keyed by their path from its root, with `/` as the separator. */
export type Files = ReadonlyMap<string, string>;

export interface Import {
  /** The specifier as written: `./a.ts`, `node:fs`, `pg`; undefined for an `import()` of a computed name. */
  readonly specifier: string | undefined;
  /** The imported file, as a path from the project's root; undefined for packages. */
  readonly file: string | undefined;
}

/** Reads every TypeScript file in a folder of the project, recursively. */
export function readFiles(root: string, folder: string): Files {
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => posix.join(folder, path.replaceAll('\\', '/')))
    .filter((path) => path.endsWith('.ts'));
  return new Map(paths.sort().map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

/**
 * Returns everything that a file imports: values and types, static and dynamic imports, re-exports and imports for their side effects. A
 * line in a comment that looks like an import counts as one: a false positive gets noticed, a false negative does not.
 */
export function importsOf(path: string, text: string): Import[] {
  const statics = [...text.matchAll(STATIC)].map((match) => match[2]);
  const dynamics = [...text.matchAll(DYNAMIC)].map((match) => match[2]);
  return [...statics, ...dynamics].map((specifier) => ({
    specifier,
    file: specifier?.startsWith('.') ? posix.join(posix.dirname(path), specifier) : undefined,
  }));
}

/** Whether a file re-exports from another module (`export … from`). */
export function handsOn(text: string): boolean {
  return /^\s*export\b[^'"`;=()]*?\bfrom\s*['"]/m.test(text);
}

/** Returns the text without comments, for rules about words. Keeps a `//` in a string unless a space precedes it. */
export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, ' ').replace(/(^|\s)\/\/.*$/gm, '$1');
}

/** Returns the files of the first import cycle found; the first file is repeated at the end. */
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

/** Matches `import … from 'x'`, `import 'x'` and `export … from 'x'`, also over several lines. */
const STATIC = /(?:^|;)[ \t]*(?:import|export)\b(?:[^'"`;=()]*?\bfrom)?\s*(['"])([^'"\n]+)\1/gm;
/** Matches `import('x')`, as a value or as a type, and `require('x')`; no group captured if the name is computed. */
const DYNAMIC = /(?<![.\w])(?:import|require)\s*\(\s*(?:(['"`])([^'"`$\n]+)\1\s*[,)])?/g;
