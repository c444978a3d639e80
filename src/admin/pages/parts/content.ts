import type { VNode } from 'preact';

/** Content of a template: elements, text, which the renderer escapes, or nothing. */
export type Content = VNode | string | number | null | undefined | false | readonly Content[];
