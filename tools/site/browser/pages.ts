/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** What a script adds to the pages of /docs: a search, and a button that copies a block. Without it, the pages have all else. */
import { addCopyButtons } from "./copy.ts";
import { addSearch } from "./search.ts";

addSearch();
if (isSecureContext && navigator.clipboard) addCopyButtons();
