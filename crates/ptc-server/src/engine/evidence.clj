(ns evidence
  "Texts and figures that the operator laid out for you. Quote what you rely on by its id."
  {:visibility :prompt})

(defn bundle
  "What there is: {:bundle_id :items [{:id :kind :title :source_ref :checksum :bytes}]}."
  {:effect :read}
  []
  (tool/evidence_bundle {}))

(defn read
  "One item by id: {:content text} or {:value data}, with its checksum; :truncated says that there is more."
  {:effect :read}
  [id]
  (tool/evidence_read {:id id}))

(defn page
  "A part of an item by id: lines of a text, entries of a list; options are :limit (50, at most 100) and :cursor."
  {:effect :read}
  ([id] (tool/evidence_page {:id id}))
  ([id options] (tool/evidence_page (assoc options :id id))))
