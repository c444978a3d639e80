import type { VNode } from 'preact';

/** What stands in a place of a template: text, which is escaped when it is rendered, elements, or nothing. */
export type Content = VNode | string | number | null | undefined | false | readonly Content[];
