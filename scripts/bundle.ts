import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { type ChunkingContext, type CodeSplittingOptions, type Plugin, rolldown } from 'rolldown';

const src = join(import.meta.dirname, '../src');

/** What Node is started with: the program itself, and what it runs in processes and threads of their own. */
const PROGRAMS = [
  'main.ts',
  'cli/query/query-process.ts',
  'daemon/start/ledger-thread.ts',
  'exports/export-process.ts',
  'exports/files/piece-thread.ts',
  'ledger/database/inspect-process.ts',
  'ledger/queries/query-thread.ts',
  'ledger/recovery/build-process.ts',
  'platform/process/watch-thread.ts',
];

/**
 * What becomes part of the bundle: packages that every command loads, and the bundler's own helpers, which no installation brings.
 * Other packages stay apart, and are loaded where they are needed.
 */
const BUNDLED = /^(commander|node-cron|yaml|zod|@oxc-project\/runtime)(\/|$)/;

/**
 * Takes Node's own modules without an import statement. For an import Node reads each property of the module, also those that
 * load something only when they are read: `import … from 'node:http'` loads all of undici, for `http.WebSocket`.
 */
const builtinsWithoutImport: Plugin = {
  name: 'builtins-without-import',
  renderChunk: (code) =>
    code.replaceAll(
      /^import (?:([\w$]+)(?:, )?)?(\{[^}]*\})? ?from "([^"]+)";$/gm,
      (statement, whole, parts, module) => {
        if (!isBuiltin(module)) return statement;
        const names = [whole, parts?.replaceAll(' as ', ': ')].filter((name) => name !== undefined);
        return names
          .map((name) => `const ${name} = globalThis.process.getBuiltinModule("${module}");`)
          .join('\n');
      },
    ),
};

/**
 * Bundles src/ into a folder, as JavaScript: a start reads a few files in place of seven hundred. All of them lie side by side,
 * so that each program is found beside whatever starts it. Each program is bundled by itself: a thread has nothing in memory that
 * only others need. `as` is the checkout that the bundled program acts as, instead of being a build.
 */
export async function bundle(folder: string, { as }: { readonly as?: string } = {}): Promise<void> {
  for (const program of PROGRAMS) {
    const bundler = await rolldown({
      input: join(src, program),
      platform: 'node',
      external: (id) => /^[@a-z]/.test(id) && !BUNDLED.test(id),
      plugins: [builtinsWithoutImport, ...(as === undefined ? [] : [actingAs(as)])],
      preserveEntrySignatures: 'allow-extension',
    });
    await bundler.write({
      dir: folder,
      format: 'esm',
      comments: false,
      chunkFileNames: '[name]-[hash].js',
      ...(program === 'main.ts' ? { codeSplitting: fewChunks() } : {}),
    });
    await bundler.close();
  }
}

/** Replaces what the program knows of where it is: it is the checkout in the folder `root`. */
function actingAs(root: string): Plugin {
  return {
    name: 'acting-as-checkout',
    load: (id) =>
      id === join(src, 'platform/process/package-root.ts')
        ? `export const isBuilt = false;\nexport const packageRoot = ${JSON.stringify(root)};`
        : null,
  };
}

/** Two files for what most commands load, in place of forty: one for the command line, and one for configuration and ledger. */
function fewChunks(): CodeSplittingOptions {
  const parts = { 'command-line': join(src, 'main.ts'), core: join(src, 'cli/shell/context.ts') };
  const closures = new Map<string, ReadonlySet<string>>();
  const loads = (root: string, id: string, graph: ChunkingContext) => {
    const closure = closures.get(root) ?? staticallyImported(root, graph);
    closures.set(root, closure);
    return closure.has(id);
  };
  const groups = Object.entries(parts).map(([part, root]) => ({
    debugName: part,
    name: (id: string, graph: ChunkingContext) => (id !== root && loads(root, id, graph) ? part : null),
  }));
  return { includeDependenciesRecursively: false, groups };
}

/** Everything that a module loads at once, itself included. */
function staticallyImported(root: string, graph: ChunkingContext): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (id: string) => {
    if (found.has(id)) return;
    found.add(id);
    for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) visit(imported);
  };
  visit(root);
  return found;
}
