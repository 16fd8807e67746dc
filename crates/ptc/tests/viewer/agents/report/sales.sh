# Sales of a region: its name comes in the arguments.
args=$(cat)
sleep 0.08
case "$args" in
*north*) echo '[{"month":"2026-01","amount":1200.5},{"month":"2026-02","amount":1320.0},{"month":"2026-03","amount":1410.25}]' ;;
*south*) echo '[{"month":"2026-01","amount":880.0},{"month":"2026-02","amount":910.0},{"month":"2026-03","amount":1290.0}]' ;;
*) echo '[{"month":"2026-01","amount":400.0},{"month":"2026-02","amount":395.5},{"month":"2026-03","amount":402.0}]' ;;
esac
