/** A section of the operating manual, as `npm run generate` makes it from docs/operating.md. */
export interface RunbookSection {
  /** Anchor of the heading, which is also the last part of the section's address. */
  readonly id: string;
  /** Level of the heading, from 1. */
  readonly depth: number;
  readonly title: string;
  /** The text below the heading, as safe HTML. */
  readonly html: string;
}
