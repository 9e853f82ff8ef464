/** Who can sign in. A real product has a table of people, and passwords. */
export type Person = {
  id: string;
  name: string;
  role: string;
  /** The id of the person's customer, under which the service has its group. */
  customer: string;
  /** The store that the person may see; `*` for all of the customer's. */
  store: string;
};

/** The customers, with the stores and products in which their rows differ. */
export const CUSTOMERS = [
  {
    id: "harbour-coffee",
    name: "Harbour Coffee",
    stores: ["Old Port", "Station", "Market Hall"],
    products: ["Flat white", "Espresso", "Cinnamon roll", "Beans, 1 kg"],
    scale: 1,
  },
  {
    id: "alpine-bikes",
    name: "Alpine Bikes",
    stores: ["Valley", "Summit"],
    products: ["City bike", "Trail bike", "Helmet", "Repair"],
    scale: 7,
  },
] as const;

export const PEOPLE: readonly Person[] = [
  { id: "ada", name: "Ada Moreno", role: "Owner", customer: "harbour-coffee", store: "*" },
  { id: "ben", name: "Ben Okafor", role: "Manager, Station", customer: "harbour-coffee", store: "Station" },
  { id: "chloe", name: "Chloe Martin", role: "Owner", customer: "alpine-bikes", store: "*" },
];
