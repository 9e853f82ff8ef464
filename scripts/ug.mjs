#!/usr/bin/env -S node --
/** Where the launcher of `ug` was in 1.0. */
import "../cli/ug.mjs";
