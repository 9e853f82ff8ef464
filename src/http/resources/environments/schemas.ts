import { lazy, numberedQuery } from "../fields.ts";

/** GET /api/environments */
export const EnvironmentsQuery = lazy(() => numberedQuery("environments"));
