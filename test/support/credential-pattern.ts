/** The text of an API key, a group token or an operator's key, as a secret scanner would look for it. */
export const CREDENTIAL_PATTERN = /(?:ug[kt]_(?:customer|testing|untagged)_[\w-]{60,154}|ugo_[\w-]{59,100})/;
