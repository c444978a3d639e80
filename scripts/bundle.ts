import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { type ChunkingContext, type CodeSplittingOptions, type Plugin, rolldown } from 'rolldown';

const src = join(import.meta.dirname, '../src');

/** The entry points: the program itself, and those of its child processes and worker threads. */
const PROGRAMS = [
  'main.ts',
  'cli/query/query-process.ts',
  'daemon/start/ledger-thread.ts',
  'exports/export-process.ts',
  'exports/files/encoding-thread.ts',
  'ledger/database/inspect-process.ts',
  'ledger/queries/query-thread.ts',
  'ledger/recovery/build-process.ts',
  'mapping/mapping-process.ts',
  'platform/process/watchdog-thread.ts',
];

/**
 * The packages that the bundle contains: those that every command loads, those that would load zod a second time, from node_modules, and the helpers of
 * the bundler, which are not installed with leadsync. Other packages are loaded from node_modules when they are needed.
 */
const BUNDLED =
  /^(@fastify\/error|commander|fastify-type-provider-zod|node-cron|yaml|zod|@oxc-project\/runtime)(\/|$)/;

/** Node's modules that take a millisecond or more to load, and that a short command does not use. */
const LOADED_WHEN_CALLED = [
  'node:child_process',
  'node:crypto',
  'node:fs/promises',
  'node:http',
  'node:inspector/promises',
  'node:net',
  'node:os',
  'node:worker_threads',
];

/** Classes of those modules of which leadsync makes instances, without extending them or testing what is an instance. */
const CONSTRUCTED = ['Session', 'Worker'];

/**
 * Loads Node's built-in modules without import statements. For an import statement, Node reads every property of the module, and some
 * properties load further modules: `import … from 'node:http'` loads all of undici, because of `http.WebSocket`. A function of
 * `LOADED_WHEN_CALLED` loads its module at the first call, and so does a class of `CONSTRUCTED`.
 */
const builtinsWithoutImport: Plugin = {
  name: 'builtins-without-import',
  renderChunk: (code) =>
    code.replaceAll(
      /^import (?:([\w$]+)(?:, )?)?(\{[^}]*\})? ?from "([^"]+)";$/gm,
      (statement, whole, parts, module) => {
        if (!isBuiltin(module)) return statement;
        const names = [whole, parts?.replaceAll(' as ', ': ')].filter((name) => name !== undefined);
        return names.map((name) => `const ${name} = ${loaded(module, name)};`).join('\n');
      },
    ),
};

/** Returns the expression whose value is assigned to `names`: the name of a whole module, or a pattern such as `{ spawn, fork: fork$1 }`. */
function loaded(module: string, names: string): string {
  const load = `globalThis.process.getBuiltinModule("${module}")`;
  if (!LOADED_WHEN_CALLED.includes(module.replace(/^(?!node:)/, 'node:'))) return load;
  if (!names.startsWith('{')) return `new Proxy({}, { get: (_, name) => ${load}[name] })`;
  const exported = names
    .replaceAll(/[{}\s]/g, '')
    .split(',')
    .map((name) => name.split(':')[0] ?? '');
  const isCallable = (name: string) =>
    (/^[a-z]/.test(name) || CONSTRUCTED.includes(name)) &&
    typeof Object(process.getBuiltinModule(module))[name] === 'function';
  if (!exported.every(isCallable)) return load;
  const late = (name: string) =>
    CONSTRUCTED.includes(name)
      ? `function (...words) { return new (${load}.${name})(...words); }`
      : `(...words) => ${load}.${name}(...words)`;
  return `{ ${exported.map((name) => `${name}: ${late(name)}`).join(', ')} }`;
}

/**
 * Bundles src/ into a folder, as JavaScript, so that a start reads a few files instead of seven hundred. All files are in one folder,
 * so that a program finds the programs that it starts beside itself. Each program is bundled separately, so that a thread loads only
 * what it needs. `as` is the checkout that the bundled program acts as; without it, the program is a build.
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

/**
 * Groups what most commands load into three chunks instead of seventy: the command line, configuration with ledger, and what `leadsync status` loads
 * beyond these, most of which other commands and the daemon load too.
 */
function fewChunks(): CodeSplittingOptions {
  const parts = {
    'command-line': join(src, 'main.ts'),
    core: join(src, 'cli/shell/context.ts'),
    state: join(src, 'cli/commands/status.ts'),
  };
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

/** Returns the ids of a module and of all its static imports, direct and indirect. */
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
