/**
 * Returns a function that calls `build` when it is first called, and returns the same result from then on. Schemas are built by such functions,
 * because a command needs few of them, and building all takes longer than reading the configuration.
 */
export function builtOnce<Built>(build: () => Built): () => Built {
  let built: { readonly result: Built } | undefined;
  return () => {
    built ??= { result: build() };
    return built.result;
  };
}
