/** The text of an API key or a group token, as a secret scanner would look for it. */
export const CREDENTIAL_PATTERN = /ug[kt]_(?:customer|testing|untagged)_[\w-]{60,154}/;
