/** The shells that `leadsync completion` writes scripts for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
/** A shell that `leadsync completion` writes a script for. */
export type Shell = (typeof SHELLS)[number];
