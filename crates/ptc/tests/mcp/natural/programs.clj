; Programs as people write them who have read what `doc` says of a tool, six for each server. FOLDER is the folder of the test,
; WEB the address of its web (`web.json`). Behind `;=>` stands the result. `away` says that the server needs the internet: whatever it
; answers, it has nothing to say against the arguments.

; == everything
(everything/echo {:message "hello"})
;=> "Echo: hello"

(everything/get-sum {:a 2 :b 40})
;=> "The sum of 2 and 40 is 42."

(mapv #(:temperature (everything/get-structured-content {:location %})) ["New York" "Chicago" "Los Angeles"])
;=> [33 36 73]

(str/includes? (str (everything/get-annotated-message {:messageType "success" :includeImage false})) "success")
;=> true

(count (re-seq #"\d+" (everything/get-sum {:a 1.5 :b 2})))
;=> 5

(try (everything/get-structured-content {:location "Berlin"}) (catch Exception e :refused))
;=> :refused

; == filesystem
(do (filesystem/write_file {:path "FOLDER/files/orders.csv" :content "id,total\n1,10\n2,32\n"})
    (:content (filesystem/read_text_file {:path "FOLDER/files/orders.csv" :head 1})))
;=> "id,total"

(let [lines (rest (str/split-lines (:content (filesystem/read_text_file {:path "FOLDER/files/orders.csv"}))))]
  (reduce + (map #(parse-long (second (str/split % #","))) lines)))
;=> 42

(do (filesystem/create_directory {:path "FOLDER/files/old/2025"})
    (filesystem/write_file {:path "FOLDER/files/old/2025/a.txt" :content "a"})
    (mapv :name (json/parse-string (:content (filesystem/directory_tree {:path "FOLDER/files/old"})))))
;=> ["2025"]

(do (filesystem/edit_file {:path "FOLDER/files/orders.csv" :edits [{:oldText "2,32" :newText "2,33"}]})
    (str/includes? (:content (filesystem/read_text_file {:path "FOLDER/files/orders.csv"})) "2,33"))
;=> true

(do (filesystem/move_file {:source "FOLDER/files/old/2025/a.txt" :destination "FOLDER/files/b.txt"})
    (count (re-seq #"\[FILE\]" (:content (filesystem/list_directory {:path "FOLDER/files"})))))
;=> 2

(mapv #(last (str/split % #"/")) (str/split-lines (:content (filesystem/search_files {:path "FOLDER/files" :pattern "**/*.csv"}))))
;=> ["orders.csv"]

; == memory
(count (:entities (:value (tool/call {:server "memory" :tool "create_entities"
  :args {:entities [{:name "Ann" :entityType "person" :observations ["likes tea"]}
                    {:name "Acme" :entityType "company" :observations []}]}}))))
;=> 2

(:relations (:value (tool/call {:server "memory" :tool "create_relations"
  :args {:relations [{:from "Ann" :to "Acme" :relationType "works at"}]}})))
;=> [{:from "Ann", :to "Acme", :relationType "works at"}]

(->> (tool/call {:server "memory" :tool "add_observations" :args {:observations [{:entityName "Ann" :contents ["plays chess"]}]}})
     :value :results first :addedObservations)
;=> ["plays chess"]

(mapv :name (:entities (:value (tool/call {:server "memory" :tool "search_nodes" :args {:query "chess"}}))))
;=> ["Ann"]

(:observations (first (:entities (:value (tool/call {:server "memory" :tool "open_nodes" :args {:names ["Ann"]}})))))
;=> ["likes tea" "plays chess"]

(do (tool/call {:server "memory" :tool "delete_entities" :args {:entityNames ["Acme"]}})
    (let [graph (:value (tool/call {:server "memory" :tool "read_graph" :args {}}))]
      [(count (:entities graph)) (count (:relations graph))]))
;=> [1 0]

; == thinking
(:nextThoughtNeeded (thinking/sequentialthinking {:thought "What is open?" :nextThoughtNeeded true :thoughtNumber 1 :totalThoughts 2}))
;=> true

(:thoughtNumber (thinking/sequentialthinking {:thought "Orders." :nextThoughtNeeded false :thoughtNumber 2 :totalThoughts 2}))
;=> 2

(let [r (tool/call {:server "thinking" :tool "sequentialthinking"
                    :args {:thought "No, tickets." :nextThoughtNeeded true :thoughtNumber 3 :totalThoughts 4 :isRevision true :revisesThought 2}})]
  [(:ok r) (:totalThoughts (:value r))])
;=> [true 4]

(:branches (thinking/sequentialthinking {:thought "Or both." :nextThoughtNeeded true :thoughtNumber 4 :totalThoughts 5 :branchFromThought 2 :branchId "both"}))
;=> ["both"]

(mapv (fn [n] (:thoughtNumber (thinking/sequentialthinking {:thought (str "Step " n) :nextThoughtNeeded (< n 3) :thoughtNumber n :totalThoughts 3}))) [1 2 3])
;=> [1 2 3]

(try (thinking/sequentialthinking {:thought "x" :nextThoughtNeeded true :thoughtNumber 0 :totalThoughts 1})
     (catch Exception e :refused))
;=> :refused

; == github
(github/search_repositories {:query "lisp language:rust"})
;=> away

(github/list_issues {:owner "rust-lang" :repo "rust" :state "open"})
;=> away

(github/create_issue {:owner "me" :repo "shop" :title "It is broken" :labels ["bug"]})
;=> away

(github/get_file_contents {:owner "rust-lang" :repo "rust" :path "README.md"})
;=> away

(github/create_pull_request {:owner "me" :repo "shop" :title "Mend it" :head "mend" :base "main" :draft true})
;=> away

(github/search_code {:q "fn main" :per_page 5})
;=> away

; == gitlab
(gitlab/create_issue {:project_id "me/shop" :title "It is broken"})
;=> away

(gitlab/search_repositories {:search "lisp"})
;=> away

(gitlab/get_file_contents {:project_id "me/shop" :file_path "README.md" :ref "main"})
;=> away

(gitlab/create_branch {:project_id "me/shop" :branch "mend" :ref "main"})
;=> away

(gitlab/create_merge_request {:project_id "me/shop" :title "Mend it" :source_branch "mend" :target_branch "main"})
;=> away

(gitlab/push_files {:project_id "me/shop" :branch "mend" :files [{:file_path "a.txt" :content "a"}] :commit_message "Add a"})
;=> away

; == slack
(slack/slack_list_channels {:limit 10})
;=> away

(slack/slack_post_message {:channel_id "C1" :text "The build is green."})
;=> away

(slack/slack_reply_to_thread {:channel_id "C1" :thread_ts "1234567890.123456" :text "Thanks."})
;=> away

(slack/slack_add_reaction {:channel_id "C1" :timestamp "1234567890.123456" :reaction "thumbsup"})
;=> away

(slack/slack_get_channel_history {:channel_id "C1" :limit 5})
;=> away

(slack/slack_get_user_profile {:user_id "U1"})
;=> away

; == maps
(maps/maps_geocode {:address "Eiffel Tower"})
;=> away

(maps/maps_directions {:origin "Berlin" :destination "Paris" :mode "driving"})
;=> away

(maps/maps_distance_matrix {:origins ["Rome"] :destinations ["Milan" "Turin"]})
;=> away

(maps/maps_search_places {:query "coffee" :location {:latitude 52.5 :longitude 13.4} :radius 500})
;=> away

(maps/maps_reverse_geocode {:latitude 48.858 :longitude 2.294})
;=> away

(maps/maps_elevation {:locations [{:latitude 47.4 :longitude 10.9}]})
;=> away

; == playwright
(str/includes? (playwright/browser_navigate {:url "WEB/page"}) "Page Title: Orders")
;=> true

(str/includes? (playwright/browser_snapshot {}) "heading \"Open orders\"")
;=> true

(do (playwright/browser_navigate {:url "WEB/form"})
    (let [page (playwright/browser_snapshot {})
          place (fn [what] (second (re-find (re-pattern (str what ".*\\[ref=(\\w+)\\]")) page)))]
      (playwright/browser_type {:element "the name" :target (place "textbox") :text "Ann"})
      (playwright/browser_click {:element "the button" :target (place "button")})
      (str/includes? (playwright/browser_snapshot {}) "Page Title: Hello Ann")))
;=> true

(str/includes? (playwright/browser_evaluate {:function "() => 6 * 7"}) "42")
;=> true

(str/includes? (playwright/browser_tabs {:action "list"}) "WEB/form")
;=> true

(do (playwright/browser_navigate {:url "WEB/page"})
    (str/includes? (playwright/browser_navigate_back {}) "WEB/form"))
;=> true

; == notion
(notion/API-post-search {:query "roadmap" :page_size 5})
;=> away

(notion/API-get-users {})
;=> away

(notion/API-retrieve-a-page {:page_id "00000000-0000-4000-8000-000000000000"})
;=> away

(notion/API-post-page {:parent {:page_id "00000000-0000-4000-8000-000000000000"} :properties {:title [{:text {:content "Plan"}}]}})
;=> away

(notion/API-create-a-comment {:parent {:page_id "00000000-0000-4000-8000-000000000000"} :rich_text [{:text {:content "Good."}}]})
;=> away

(notion/API-query-data-source {:data_source_id "00000000-0000-4000-8000-000000000000" :page_size 3})
;=> away

; == time
(:time_difference (time/convert_time {:source_timezone "Asia/Tokyo" :time "15:00" :target_timezone "Asia/Kolkata"}))
;=> "-3.5h"

(subs (:datetime (:target (time/convert_time {:source_timezone "Asia/Tokyo" :time "09:30" :target_timezone "UTC"}))) 11 16)
;=> "00:30"

(:timezone (time/get_current_time {:timezone "America/New_York"}))
;=> "America/New_York"

(mapv #(:time_difference (time/convert_time {:source_timezone "UTC" :time "12:00" :target_timezone %})) ["Asia/Tokyo" "Asia/Kolkata"])
;=> ["+9.0h" "+5.5h"]

(string? (:day_of_week (time/get_current_time {:timezone "UTC"})))
;=> true

(let [r (tool/call {:server "time" :tool "get_current_time" :args {:timezone "Moon/Base"}})] [(:ok r) (:reason r)])
;=> [false :tool_error]

; == git
(str/includes? (git/git_status {:repo_path "FOLDER/repository"}) "No commits yet")
;=> true

(git/git_add {:repo_path "FOLDER/repository" :files ["notes.txt"]})
;=> "Files staged successfully"

(str/includes? (git/git_diff_staged {:repo_path "FOLDER/repository"}) "+one line")
;=> true

(str/includes? (git/git_commit {:repo_path "FOLDER/repository" :message "Note it"}) "committed")
;=> true

(do (git/git_create_branch {:repo_path "FOLDER/repository" :branch_name "idea"})
    (str/includes? (git/git_branch {:repo_path "FOLDER/repository" :branch_type "local"}) "idea"))
;=> true

(count (re-seq #"Note it" (git/git_log {:repo_path "FOLDER/repository" :max_count 5})))
;=> 1

; == fetch
(str/includes? (fetch/fetch {:url "WEB/page"}) "three open orders")
;=> true

(str/includes? (fetch/fetch {:url "WEB/page" :raw true}) "<title>Orders</title>")
;=> true

(reduce + (map parse-long (re-seq #"\d+" (re-find #"\[3.*\]" (fetch/fetch {:url "WEB/numbers" :raw true})))))
;=> 16

(str/includes? (fetch/fetch {:url "WEB/page" :max_length 20 :raw true}) "start_index")
;=> true

(str/includes? (fetch/fetch {:url "WEB/page" :start_index 6 :raw true}) "<head>")
;=> true

(let [r (tool/call {:server "fetch" :tool "fetch" :args {:url "http://127.0.0.1:9/"}})] [(:ok r) (:reason r)])
;=> [false :tool_error]

; == sqlite
(sqlite/create_table {:query "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, total REAL)"})
;=> "Table created successfully"

(do (sqlite/write_query {:query "INSERT INTO orders (customer, total) VALUES ('Ann', 10.5), ('Bob', 4), ('Ann', 2)"})
    (str/includes? (str (sqlite/list_tables {})) "orders"))
;=> true

(str/includes? (str (sqlite/read_query {:query "SELECT customer, SUM(total) AS sum FROM orders GROUP BY customer ORDER BY customer"})) "12.5")
;=> true

(count (re-seq #"'name'|\"name\"|:name" (str (sqlite/describe_table {:table_name "orders"}))))
;=> 3

(str/includes? (str (sqlite/write_query {:query "UPDATE orders SET total = 5 WHERE customer = 'Bob'"})) "1")
;=> true

(str/includes? (str (sqlite/append_insight {:insight "Ann buys most."})) "added")
;=> true

; == shop
(reduce + (map :total (filter #(= "open" (:status %)) (shop/list-orders {:status "open"}))))
;=> 30.0

(let [names (into {} (map (juxt :id :name) (shop/list-customers {})))]
  (mapv (fn [order] [(names (:customer_id order)) (:total order)]) (shop/list-orders {:limit 3})))
;=> [["Ann" 25.5] ["Bob" 10] ["Ann" 4.5]]

(:name (apply min-key :price (shop/search-products {:q "tea"})))
;=> "Tea"

(:count (shop/get-stock {:product_id 7}))
;=> 3

(:body (shop/refund-order {:order_id 10 :body {:amount 25.5 :reason "damaged"}}))
;=> {:amount 25.5, :reason "damaged"}

(reduce + (map :revenue (shop/sales-report {:from "2026-01-01" :to "2026-02-28" :by "month"})))
;=> 250

; == helpdesk
(mapv :subject (filter #(= "urgent" (:priority %)) (helpdesk/list-tickets {:priority "urgent"})))
;=> ["It is broken"]

(:requester (helpdesk/get-ticket {:ticket_id 1}))
;=> "ann@example.com"

(count (remove :internal (helpdesk/list-comments {:ticket_id 1})))
;=> 1

(mapv :name (filter :at_work (helpdesk/list-agents {})))
;=> ["Dora"]

(let [free (:id (first (filter :at_work (helpdesk/list-agents {}))))]
  (:body (helpdesk/assign-ticket {:ticket_id 1 :body {:agent_id free}})))
;=> {:agent_id 4}

(:path (helpdesk/add-comment {:ticket_id 2 :body {:text "It is on its way."}}))
;=> "/helpdesk/tickets/2/comments"
