/** The shells that `leadsync completion` writes scripts for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
/** One of them. */
export type Shell = (typeof SHELLS)[number];
